"""Mount namespaces: what a container sees at the paths its manifest names, and nobody else does.

The keeper has one thread, so it may enter a namespace, start the container there and come back; nothing is
forked for it. A namespace is built for a set of mounts (building.py), and kept for a while if the same set is
asked for again. With a file for its termination message a container gets a copy of that namespace for itself,
and when it has ended the copy is for the next one: there are as many as run at a time.

Root may do this anywhere. Another user may in a user namespace, where the system lets users have one: the
keeper then lives in one from its start (`become_own_root`), and all containers with it.
"""

from __future__ import annotations

import os
import time

from longshore.node.keeper.processes import linux
from longshore.node.keeper.records.entry import Entry
from longshore.node.keeper.records.termination_files import Messages
from longshore.node.keeper.talking.refused import Refused
from longshore.node.keeper.walls import file_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.talking.frames import Spec

_KEPT_SECONDS = 30.0  # a namespace holds on to its volumes, so it is not kept long for the next container
_MAX_KEPT = 64
_MAX_SEEN = 1024


def problem() -> str:
    """Why containers cannot have mounts of their own here, or ""."""
    return _tried(_unshare_mounts if os.geteuid() == 0 else _become_own_root)


def become_own_root() -> str:
    """Gets the right to mount. Returns why not, or ""."""
    found = problem()
    if not found and os.geteuid() != 0:
        _become_own_root()
    return found


def _become_own_root() -> None:
    uid, gid = os.geteuid(), os.getegid()
    # The host's name, too: who gave it up for another could not take it back from outside.
    linux.unshare(linux.NEWUSER | linux.NEWNS | linux.NEWUTS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)


def _unshare_mounts() -> None:
    linux.unshare(linux.NEWNS)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)


def _tried(what: object) -> str:
    """Does it in a child, because it cannot be undone."""
    told, tell = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        try:
            assert callable(what)
            what()
        except BaseException as error:
            os.write(tell, str(error).encode()[:500] or b"failed")
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(pid, 0)
    with os.fdopen(told, "rb") as pipe:
        return pipe.read().decode(errors="replace")


class Namespaces:
    def __init__(self, directory: str, problem: str) -> None:
        self.problem = problem
        """Why there can be none, or ""."""
        self.messages = Messages(directory)
        self._stage = os.path.join(directory, "stage")
        os.makedirs(self._stage, mode=0o700, exist_ok=True)
        self._own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        self._own_uts = os.open("/proc/self/ns/uts", os.O_RDONLY | os.O_CLOEXEC)
        self._kept: dict[object, tuple[int, float]] = {}
        """By what is mounted in them: the namespace, and when it was last asked for."""
        self._free: dict[object, list[tuple[int, str, float]]] = {}
        """Copies that no container uses, each with its file for the message, and since when."""
        self._seen: set[object] = set()
        """The mounts that were asked for once."""
        self._renamed = False

    def enter(self, entry: Entry, spec: Spec) -> bool:
        """Moves the keeper to where this container is to live. False if that is where it is."""
        mounts, termination = spec["mounts"], spec["termination"]
        hostname = spec["hostname"]
        if self.problem:
            if mounts or spec["read_only_root"]:
                raise _cannot(f"volumes cannot be mounted on this system: {self.problem}")
            return False  # the termination message and the host name are not worth a refusal
        if not (mounts or termination or hostname or spec["read_only_root"]):
            return False
        try:
            if termination:
                self._enter_own(entry, mounts, termination, spec["read_only_root"])
            elif mounts or spec["read_only_root"]:
                self._enter_mounts(
                    _key(mounts, "", spec["read_only_root"]), mounts, "", spec["read_only_root"]
                )
            if hostname:
                linux.unshare(linux.NEWUTS)
                self._renamed = True
                linux.sethostname(hostname)
        except OSError as error:
            self.leave()
            raise Refused("RunContainerError", f"preparing the container's mounts: {error}") from None
        except BaseException:
            self.leave()
            raise
        return True

    def enter_of(self, pid: int) -> bool:
        """Moves the keeper to where a process lives."""
        if self.problem:
            return False
        entered = False
        for name, kind in (("mnt", linux.NEWNS), ("uts", linux.NEWUTS)):
            path = f"/proc/{pid}/ns/{name}"
            try:
                if os.readlink(path) == os.readlink(f"/proc/self/ns/{name}"):
                    continue
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    linux.setns(fd, kind)
                finally:
                    os.close(fd)
            except OSError as error:
                if entered:
                    self.leave()
                raise Refused("RunContainerError", f"entering the container: {error}") from None
            entered = True
            self._renamed = self._renamed or name == "uts"
        return entered

    def leave(self) -> None:
        """Back home."""
        linux.setns(self._own, linux.NEWNS)
        if self._renamed:
            linux.setns(self._own_uts, linux.NEWUTS)
            self._renamed = False

    def release(self, entry: Entry) -> None:
        """The container has ended: its message is taken, and its copy of a namespace is free."""
        if not entry.message_file:
            return
        copy, entry.copy = entry.copy, None
        good = self.messages.collect(entry.message_file, entry.termination)
        if copy is not None and good and len(self._free.get(copy[0], ())) < _MAX_KEPT:
            self._free.setdefault(copy[0], []).append((copy[1], entry.message_file, time.monotonic()))
            return
        self.messages.discard(entry.message_file)
        if copy is not None:
            os.close(copy[1])

    def _enter_own(
        self, entry: Entry, mounts: list[tuple[str, str, bool]], termination: tuple[str, str], read_only: bool
    ) -> None:
        """A copy of the namespace, with a file of its own for the message."""
        key = _key(mounts, termination[1], read_only)
        free = self._free.get(key)
        if free:
            fd, entry.message_file, _ = free.pop()
            entry.copy = (key, fd)
            linux.setns(fd, linux.NEWNS)
            return
        entry.message_file = self.messages.place(termination[0])
        message = self.messages.tree(entry.message_file)
        try:
            kept = self._enter_mounts(key, mounts, termination[1], read_only)
            if kept:
                linux.unshare(linux.NEWNS)
            file_tree.bind(message, termination[1], read_only=False)
        finally:
            os.close(message)
        if kept:
            entry.copy = (key, os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC))

    def _enter_mounts(
        self, key: object, mounts: list[tuple[str, str, bool]], termination: str, read_only: bool
    ) -> bool:
        """Whether it is kept for others. One that is asked for only once is not: it would hold on to volumes
        that go with their pod."""
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

    @property
    def keeps_some(self) -> bool:
        return bool(self._kept or self._free)

    def forget_unused(self) -> bool:
        """Lets go of those that nobody asked for lately. Whether any is left."""
        old = time.monotonic() - _KEPT_SECONDS
        for key in [key for key, (_, used) in self._kept.items() if used < old]:
            self._drop(key)
        for key, copies in list(self._free.items()):
            for copy in [copy for copy in copies if copy[2] < old]:
                copies.remove(copy)
                self._close(copy)
            if not copies:
                del self._free[key]
        return self.keeps_some

    def close(self) -> None:
        for copies in self._free.values():
            for copy in copies:
                self._close(copy)
        self.messages.close()

    def _close(self, copy: tuple[int, str, float]) -> None:
        os.close(copy[0])
        self.messages.discard(copy[1])

    def _drop(self, key: object) -> None:
        os.close(self._kept.pop(key)[0])


def _key(mounts: list[tuple[str, str, bool]], termination: str, read_only: bool) -> object:
    """An identity that is equal for equal files: a source that was made again is another one."""
    try:
        sources = [os.stat(source) for source, _, _ in mounts]
    except OSError as error:
        raise Refused("RunContainerError", f"the source of a mount is not there: {error}") from None
    return (tuple(mounts), tuple((s.st_dev, s.st_ino) for s in sources), termination, read_only)


def _cannot(message: str) -> Refused:
    return Refused("CreateContainerConfigError", message)
