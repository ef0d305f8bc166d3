"""The meaning of an image to a container of the process runtime: a command, PATH, mounts.

Containers of podman have the image itself, and take nothing from here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from longshore.api.types import Obj
from longshore.machinery.in_thread import InThread
from longshore.node.images.applets import AppletDirectories, Applets
from longshore.node.images.image_table import ImageEntry, no_command
from longshore.node.images.images_file import ImagesFile
from longshore.node.preparing.types import CannotPrepare
from longshore.node.runtime import Mount

SHELL_TARGET: Final = "/bin/sh"
_APPLETS_TARGET: Final = "/run/longshore"
"""The directory in which pods see applets: their users may have no access to the node's own directory."""
_WHOLE_SHELLS: Final = ("bash",)
"""Shells with all features of busybox's, and more: if /bin/sh is one of these, it is not replaced."""


class Tools(msgspec.Struct, frozen=True):
    """The tools that an image brings along."""

    path: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()


NO_TOOLS: Final = Tools()


class ImageMeanings:
    """`root` is where directories of applets are made."""

    def __init__(self, images: ImagesFile, root: Path, in_thread: InThread) -> None:
        self._images, self._in_thread = images, in_thread
        self._applets = AppletDirectories(root)
        self._tools: dict[tuple[ImageEntry, bool, Applets | None], Tools] = {}

    async def ready(self, pod_spec: Obj) -> None:
        """Makes the applets of a pod's images in a thread, because that takes some milliseconds."""
        for applets in self._missing(pod_spec):
            await self._in_thread(self._applets.of, applets)

    def are_ready(self, pod_spec: Obj) -> bool:
        """Whether `ready` has nothing to do."""
        return next(self._missing(pod_spec), None) is None

    def _missing(self, pod_spec: Obj) -> Iterator[str]:
        for part in ("initContainers", "containers", "ephemeralContainers"):
            for container in pod_spec.get(part) or ():
                row = self._images.find(container.get("image") or "")
                if row is not None and row.entry.applets and self._applets.known(row.entry.applets) is None:
                    yield row.entry.applets

    def entry(self, image: str) -> ImageEntry | None:
        row = self._images.find(image)
        return None if row is None else row.entry

    def tools(self, entry: ImageEntry, *, mounting: bool) -> Tools:
        """The directories and mounts of an entry. Without `mounting` a pod sees the node's own directory."""
        if not entry.path and not entry.applets:
            return NO_TOOLS
        applets = self._applets.of(entry.applets) if entry.applets else None
        key = entry, mounting, applets
        if key not in self._tools:
            self._tools[key] = _tools(entry, applets, mounting=mounting)
        return self._tools[key]

    def unknown(self, name: str, image: str) -> CannotPrepare:
        """The error for a container without a command, if its image has none either."""
        problem = f" ({self._images.problem}; the file before it is in force)" if self._images.problem else ""
        return CannotPrepare(
            "CreateContainerError", no_command(name, image, self._images.find(image)) + problem
        )


def command_of(entry: ImageEntry, args: Sequence[str] | None) -> tuple[str, ...]:
    """The words that an image puts before the `args` of a container without a `command`."""
    command = entry.command if args else (*entry.command, *entry.args)
    if command and command[0].startswith("~"):
        return (os.path.expanduser(command[0]), *command[1:])
    return command


def _tools(entry: ImageEntry, applets: Applets | None, *, mounting: bool) -> Tools:
    path = tuple(os.path.expanduser(directory) for directory in entry.path)
    if applets is None:
        return Tools(path)
    if not mounting:
        return Tools((applets.directory, *path))
    target = f"{_APPLETS_TARGET}/{os.path.basename(applets.program)}"
    mounts: tuple[Mount, ...] = (Mount(applets.directory, target, read_only=True),)
    shell = os.path.realpath(SHELL_TARGET)
    if applets.has_shell and shell != applets.program and os.path.basename(shell) not in _WHOLE_SHELLS:
        mounts += (Mount(applets.program, SHELL_TARGET, read_only=True),)
    return Tools((target, *path), mounts)
