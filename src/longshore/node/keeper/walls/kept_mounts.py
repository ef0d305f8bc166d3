"""Mount namespaces of containers without walls. Each is built for a set of mounts, and kept for a while if
the same set is requested again.

A container with a termination message gets a copy of the namespace for itself. The next container reuses the
copy, so there are as many copies as containers run at a time.
"""

from __future__ import annotations

import os
import time

from longshore.node.keeper import linux
from longshore.node.keeper.container_records import ContainerRecord
from longshore.node.keeper.frames import Refused
from longshore.node.keeper.termination_files import Messages
from longshore.node.keeper.walls import file_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.frames import Spec, Walls

_MAX_KEPT = 64
_MAX_SEEN = 1024


class KeptMounts:
    """`stage` is a directory in which namespaces are put together."""

    def __init__(self, stage: str, messages: Messages) -> None:
        self._stage, self._messages = stage, messages
        self._kept: dict[object, tuple[int, float]] = {}
        """By set of mounts: the namespace, and when it was last requested."""
        self._free: dict[object, list[tuple[int, str, float]]] = {}
        """Copies that no container uses, each with its file for the message, and since when."""
        self._seen: set[object] = set()
        """The sets of mounts that were requested before."""

    @property
    def keeps_some(self) -> bool:
        return bool(self._kept or self._free)

    def enter_own(
        self,
        entry: ContainerRecord,
        mounts: list[tuple[str, str, bool]],
        termination: tuple[str, str],
        read_only: bool,
    ) -> None:
        """Enters a copy of the namespace, with a file of its own for the message."""
        key = key_of(mounts, termination[1], read_only)
        free = self._free.get(key)
        if free:
            fd, entry.message_file, _ = free.pop()
            entry.copy = (key, fd)
            linux.setns(fd, linux.NEWNS)
            return
        entry.message_file = self._messages.place(termination[0])
        message = self._messages.tree(entry.message_file)
        try:
            kept = self.enter(key, mounts, termination[1], read_only)
            if kept:
                linux.unshare(linux.NEWNS)
            file_tree.bind(message, termination[1], read_only=False)
        finally:
            os.close(message)
        if kept:
            entry.copy = (key, os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC))

    def enter(
        self, key: object, mounts: list[tuple[str, str, bool]], termination: str, read_only: bool
    ) -> bool:
        """Enters the namespace; returns whether it is kept for other containers. The first request for a set
        of mounts keeps nothing: the namespace would hold volumes that are removed with their pod."""
        found = self._kept.get(key)
        now = time.monotonic()
        if found is not None:
            linux.setns(found[0], linux.NEWNS)
            self._kept[key] = (found[0], now)
            return True
        linux.unshare(linux.NEWNS)
        linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)
        file_tree.build(self._stage, mounts, termination, read_only)
        if key not in self._seen:
            if len(self._seen) >= _MAX_SEEN:
                self._seen.clear()
            self._seen.add(key)
            return False
        fd = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        self._kept[key] = (fd, now)
        if len(self._kept) > _MAX_KEPT:
            self._drop(min(self._kept, key=lambda each: self._kept[each][1]))
        return True

    def release(self, entry: ContainerRecord) -> None:
        """Collects the message of an ended container, and frees its copy of a namespace."""
        copy, entry.copy = entry.copy, None
        good = self._messages.collect(entry.message_file, entry.termination)
        if copy is not None and good and len(self._free.get(copy[0], ())) < _MAX_KEPT:
            self._free.setdefault(copy[0], []).append((copy[1], entry.message_file, time.monotonic()))
            return
        self._messages.discard(entry.message_file)
        if copy is not None:
            os.close(copy[1])

    def forget_unused(self, old: float) -> None:
        """Closes namespaces that were not used since then."""
        for key in [key for key, (_, used) in self._kept.items() if used < old]:
            self._drop(key)
        for key, copies in list(self._free.items()):
            for copy in [copy for copy in copies if copy[2] < old]:
                copies.remove(copy)
                self._close(copy)
            if not copies:
                del self._free[key]

    def close(self) -> None:
        for copies in self._free.values():
            for copy in copies:
                self._close(copy)

    def _close(self, copy: tuple[int, str, float]) -> None:
        os.close(copy[0])
        self._messages.discard(copy[1])

    def _drop(self, key: object) -> None:
        os.close(self._kept.pop(key)[0])


def key_of(mounts: list[tuple[str, str, bool]], termination: str, read_only: bool) -> object:
    """The identity of a set of mounts. It includes inodes, so a source that was recreated differs."""
    identities: list[int] = []
    try:
        for source, _, _ in mounts:
            found = os.stat(source)
            identities += (found.st_dev, found.st_ino)
    except OSError as error:
        raise Refused("RunContainerError", f"the source of a mount is not there: {error}") from None
    return (tuple(mounts), tuple(identities), termination, read_only)


def walls_key(spec: Spec, walls: Walls) -> object:
    """A key that is equal for containers that can share mounts and walls."""
    termination = spec["termination"]
    mounts = key_of(spec["mounts"], termination[1] if termination else "", spec["read_only_root"])
    flags = walls["level"], walls["privileged"], walls["no_network"], walls["host_ipc"]
    return (*flags, tuple(walls["hidden"]), mounts)
