"""The volumes that a container mounts, with subPath.

A subPath never leaves its volume: neither by `..` nor through links that some container may have made. The
path that the runtime gets has no links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Final

from longshore.api.types import Obj
from longshore.node.preparing.environment.expansion import TooLong, expand
from longshore.node.preparing.types import CannotPrepare, PreparedPod
from longshore.node.runtime import Mount

_MAX_PATH_CHARACTERS: Final = 4095
"""PATH_MAX of Linux, without the zero byte at the end."""
_STEP: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def of_container(spec: Obj, prepared: PreparedPod, env: Mapping[str, str]) -> tuple[Mount, ...]:
    """The mounts that the manifest asks for, in its order."""
    mounts = []
    for mount in spec.get("volumeMounts") or ():
        volume = prepared.volumes.get(mount["name"])
        if volume is None:
            text = f'cannot find volume "{mount["name"]}" to mount into container "{spec["name"]}"'
            raise CannotPrepare("CreateContainerConfigError", text)
        source, sub = volume.path, _sub_path(mount, env, spec["name"])
        if sub:
            source = _below(volume.path, sub, mount["name"], spec["name"])
        target: str = mount["mountPath"]
        if len(target) > _MAX_PATH_CHARACTERS:
            raise _too_long("mountPath", mount, spec["name"])
        if not target.startswith("/"):
            target = f"/{target}"
        if os.path.normpath(target).strip("/") == "":
            text = f'volumeMount "{mount["name"]}" of container "{spec["name"]}": mountPath must not be "/"'
            raise CannotPrepare("CreateContainerConfigError", text)
        mounts.append(Mount(source, target, bool(mount.get("readOnly")) or volume.read_only))
    return tuple(mounts)


def _too_long(field: str, mount: Obj, container: str) -> CannotPrepare:
    text = f'volumeMount "{mount["name"]}" of container "{container}": {field} is longer than a path can be'
    return CannotPrepare("CreateContainerConfigError", f"{text} ({_MAX_PATH_CHARACTERS} bytes)")


def _sub_path(mount: Obj, env: Mapping[str, str], container: str) -> str:
    path: str = mount.get("subPath") or ""
    if expression := mount.get("subPathExpr"):
        missing = set()

        def value_of(name: str) -> str:
            if not (value := env.get(name)):
                missing.add(name)
            return value or ""

        try:
            path = expand(expression, value_of)
        except TooLong:
            raise _too_long("subPathExpr", mount, container) from None
        if missing:
            text = f"missing value for {', '.join(sorted(missing))}"
            raise CannotPrepare("CreateContainerConfigError", text)
    if len(path) > _MAX_PATH_CHARACTERS:  # before anything walks along it
        raise _too_long("subPath", mount, container)
    if path.startswith("/"):
        text = f"error SubPath `{path}` must not be an absolute path"
        raise CannotPrepare("CreateContainerConfigError", text)
    if ".." in path.split("/"):
        text = f"unable to provision SubPath `{path}`: must not contain '..'"
        raise CannotPrepare("CreateContainerConfigError", text)
    return path


def _below(volume: str, sub: str, name: str, container: str) -> str:
    """The real path of `sub` in the volume; a directory is made if there is nothing.

    The messages say nothing of the machine's files, because the author of the link could read them."""
    top = os.path.realpath(volume)
    wanted = os.path.realpath(os.path.join(top, sub))
    if not _within(wanted, top):
        text = f'failed to prepare subPath for volumeMount "{name}" of container "{container}"'
        raise CannotPrepare("CreateContainerConfigError", text)
    if not os.path.lexists(wanted):
        try:
            _make(top, os.path.relpath(wanted, top))
        except OSError:
            text = f'failed to create subPath directory for volumeMount "{name}" of container "{container}"'
            raise CannotPrepare("CreateContainerConfigError", text) from None
    return wanted


def _within(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def _make(top: str, path: str) -> None:
    """Makes the directories of `path` below `top`, each through a handle that followed no link."""
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        found = os.fstat(folder)
        for step in path.split("/"):
            made = False
            try:
                os.mkdir(step, dir_fd=folder)
                made = True
            except FileExistsError:
                pass
            inner = os.open(step, _STEP, dir_fd=folder)
            os.close(folder)
            folder = inner
            if made:
                os.fchown(folder, -1, found.st_gid)
                os.fchmod(folder, stat.S_IMODE(found.st_mode))
    finally:
        os.close(folder)
