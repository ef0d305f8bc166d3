"""Builds the file tree of a mount namespace that the keeper has just entered: the host's, with mounts on it.

A mount point that the host lacks is made without changing the host: its directory is covered by a tmpfs that
shows the same entries and can take more. Files that a container adds to a covered directory are lost with the
namespace, as in an image. The entries shown are the host's own, and writes to them stay. A large directory is
covered by an overlay instead; there only writes to mounts below it stay.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable

from longshore.node.keeper import linux
from longshore.node.keeper.frames import Refused
from longshore.node.keeper.walls import users

_MAX_SHOWN_ENTRIES = 256  # a directory with this many entries is covered by an overlay
_NOT_NEEDED = re.compile(r"(ttyS?|loop|ram|vcs[au]?|nbd|hvc)\d*$")
"""Devices that no container opens; a machine may have a hundred of them."""
_SYSTEM = ("/proc", "/sys", "/dev")


def build(
    stage: str,
    mounts: list[tuple[str, str, bool]],
    termination: str,
    read_only_root: bool,
    first: Callable[[], None] | None = None,
    own: tuple[str, ...] = (),
) -> tuple[list[str], list[str]]:
    """`stage` is an empty directory of the host for intermediate mounts. `first` is called when all sources
    are open; it makes the directories `own`, in which mount points may be made.

    Returns the directories that are in memory, and those of these that are behind an overlay."""
    tree = _Tree(stage, own)
    opened: list[tuple[int, str, bool]] = []
    try:
        for source, target, read_only in sorted(mounts, key=lambda mount: mount[1].rstrip("/").count("/")):
            opened.append((linux.open_tree(source), target, read_only))
        if first is not None:
            first()
        for fd, target, read_only in opened:
            point = tree.point(target, directory=stat.S_ISDIR(os.fstat(fd).st_mode))
            bind(fd, point, read_only=read_only)
            tree.ours.append(point)
    finally:
        for fd, _, _ in opened:
            os.close(fd)
    if termination:
        tree.point(termination, directory=False)
    if read_only_root:
        tree.make_read_only()
    return [*tree.covered, *tree.made], tree.overlaid


def bind(source: int, target: str, *, read_only: bool) -> None:
    """Mounts a source that `open_tree` opened before anything was mounted, so that it is the host's."""
    linux.move_mount(source, target)
    if read_only:
        remount_read_only(target)


def remount_read_only(target: str) -> None:
    """Makes a mount read-only. Its other flags stay, because a user namespace may not remove them."""
    flags = linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY
    has = os.statvfs(target).f_flag
    for known, flag in ((2, linux.MS_NOSUID), (4, linux.MS_NODEV), (8, linux.MS_NOEXEC), (1024, 1024)):
        if has & known:
            flags |= flag  # ST_NOATIME and MS_NOATIME are the same bit, 1024
    linux.mount("none", target, flags=flags)


class _Tree:
    def __init__(self, stage: str, own: tuple[str, ...]) -> None:
        self._stage = stage
        self.ours: list[str] = []
        """The mount points of volumes, in which mount points may be made."""
        self.covered: set[str] = {*own}
        self.made: list[str] = []
        """Directories made in covered ones, on the way to a mount point."""
        self.overlaid: list[str] = []

    def point(self, target: str, *, directory: bool) -> str:
        """The real path to mount on, which exists when this returns."""
        target = os.path.realpath(target)
        if os.path.exists(target):
            if os.path.isdir(target) != directory:
                kind = ("a file", "a directory") if directory else ("a directory", "a file")
                raise Refused("RunContainerError", f"mounting on {target}: it is {kind[0]}, not {kind[1]}")
            return target
        above = os.path.dirname(target)
        while not os.path.isdir(above):
            above = os.path.dirname(above)
        if not self._is_ours(above):
            self._cover(above)
        if not self._is_volume(above):
            between = os.path.dirname(target)
            while between != above:
                self.made.append(between)
                between = os.path.dirname(between)
        os.makedirs(target if directory else os.path.dirname(target), exist_ok=True)
        if not directory:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
        return target

    def make_read_only(self) -> None:
        """Makes the host's mounts read-only, except volumes, /proc, /sys and /dev."""
        for path in _mount_points("/"):
            if not self._is_volume(path) and not _below(path, _SYSTEM):
                with contextlib.suppress(PermissionError):  # behind a directory that its user may not enter
                    remount_read_only(path)

    def _is_ours(self, path: str) -> bool:
        return path in self.covered or path in self.made or self._is_volume(path)

    def _is_volume(self, path: str) -> bool:
        return _below(path, self.ours)

    def _cover(self, path: str) -> None:
        if path == "/":
            self._cover_root()
        elif _below(path, ("/proc", "/sys")):
            raise Refused("RunContainerError", f"nothing can be mounted below {path}: it is the kernel's")
        elif not os.access(path, os.R_OK | os.X_OK):
            _memory(path, os.stat(path))  # its content could not be read before, as in root's home
        elif (path == "/dev" and users.is_machine_root()) or len(os.listdir(path)) > _MAX_SHOWN_ENTRIES:
            self._cover_by_overlay(path)
        else:
            self._cover_by_entries(path)  # /dev too: a user's overlay has no working devices
        self.covered.add(path)

    def _cover_by_entries(self, path: str) -> None:
        below = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _memory(path, os.fstat(below))
            _show_entries(f"/proc/self/fd/{below}", path, devices=path == "/dev")
        finally:
            os.close(below)

    def _cover_by_overlay(self, path: str) -> None:
        self.overlaid.append(path)
        within = [point for point in _mount_points(path) if point != path]
        below = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._fill_stage(os.fstat(below))
            memory = os.open(self._stage, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            above = f"/proc/self/fd/{memory}"  # the stage itself may be in the directory that gets covered
            try:
                os.mkdir(f"{above}/upper")
                os.mkdir(f"{above}/work")
                _same_owner(f"{above}/upper", os.fstat(below))
                options = f"lowerdir=/proc/self/fd/{below},upperdir={above}/upper,workdir={above}/work"
                linux.mount("overlay", path, "overlay", options=options)
                linux.umount(above, linux.MNT_DETACH)
            finally:
                os.close(memory)
            for point in within:
                source = f"/proc/self/fd/{below}{point[len(path) :]}"
                if os.path.exists(point):
                    linux.mount(source, point, flags=linux.MS_BIND)
        finally:
            os.close(below)

    def _fill_stage(self, like: os.stat_result) -> None:
        if not os.path.isdir(self._stage):
            over = next((each for each in self.ours if _below(self._stage, [each])), "a volume")
            text = f"{over} is mounted over longshore's data directory, which is needed to make mount points"
            raise Refused("RunContainerError", f"{text}; choose another mountPath, or another --data-dir")
        _memory(self._stage, like)

    def _cover_root(self) -> None:
        """Replaces the root by a tmpfs that shows the entries of the old root."""
        self._fill_stage(os.stat("/"))
        _show_entries("/", self._stage, devices=False)
        linux.umount(self._stage + self._stage, linux.MNT_DETACH)  # it moved with the directory above
        os.mkdir(f"{self._stage}/.old")
        linux.pivot_root(self._stage, f"{self._stage}/.old")
        os.chdir("/")
        linux.umount("/.old", linux.MNT_DETACH)
        os.rmdir("/.old")


def _memory(path: str, like: os.stat_result) -> None:
    linux.mount("longshore", path, "tmpfs", linux.MS_NOSUID, "size=64m")
    _same_owner(path, like)


def _same_owner(path: str, like: os.stat_result) -> None:
    os.chmod(path, stat.S_IMODE(like.st_mode))
    if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()) and users.is_machine_root():
        os.chown(path, like.st_uid, like.st_gid)


def _show_entries(source: str, target: str, *, devices: bool) -> None:
    """Mounts each entry of `source` into the empty directory `target`."""
    for entry in os.scandir(source):
        old, new = f"{source}/{entry.name}", f"{target}/{entry.name}"
        if entry.is_symlink():
            os.symlink(os.readlink(old), new)
            continue
        if devices and _NOT_NEEDED.match(entry.name) and entry.name != "tty":
            continue
        if entry.is_dir():
            os.mkdir(new)
        else:
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
        linux.mount(old, new, flags=linux.MS_BIND | linux.MS_REC)


def _mount_points(path: str) -> list[str]:
    """The mounts at or below a path, parents first."""
    prefix = path.rstrip("/") + "/"
    found: list[str] = []
    with open("/proc/self/mountinfo") as file:
        for text in file:
            point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), text.split()[4])
            if (point == path or point.startswith(prefix)) and point not in found:
                found.append(point)
    return sorted(found, key=len)


def _below(path: str, tops: list[str] | tuple[str, ...]) -> bool:
    return any(path == top or path.startswith(top + "/") for top in tops)
