"""The system calls that Python 3.11 does not have, by their own names. Each raises OSError as `os` does."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)

NEWNS = 0x00020000
NEWUTS = 0x04000000
NEWUSER = 0x10000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC = 32, 4096, 16384
MS_SLAVE = 1 << 19
MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36
_SYS_OPEN_TREE, _SYS_MOVE_MOUNT = 428, 429  # the same everywhere, since Linux 5.2
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_RECURSIVE = -100, 0x100, 0x8000
_OPEN_TREE_CLONE, _F_EMPTY_PATH = 1, 4
_FALLOC_KEEP_SIZE = 1
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def _check(result: int, what: str = "") -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what or None)


def become_subreaper() -> None:
    """Descendants whose parent dies become children of this process, not of init."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def set_name(name: str) -> None:
    """Sets the name that `ps` and `top` show."""
    _check(_libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0))


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags))


def setns(fd: int, kind: int) -> None:
    _check(_libc.setns(fd, kind))


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    _check(
        _libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() or None,
            ctypes.c_ulong(flags),
            os.fsencode(options) or None,
        ),
        target,
    )


def open_tree(path: str, *, follow: bool = True) -> int:
    """A copy of what is mounted at a path, not yet mounted anywhere: it may be moved to another namespace.
    Without `follow` the last part of the path must not be a link."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC | (0 if follow else _AT_SYMLINK_NOFOLLOW)
    fd = int(_libc.syscall(_SYS_OPEN_TREE, _AT_FDCWD, os.fsencode(path), ctypes.c_uint(flags)))
    if fd < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return fd


def move_mount(tree: int, target: str) -> None:
    """Mounts what `open_tree` gave."""
    _check(
        _libc.syscall(
            _SYS_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), ctypes.c_uint(_F_EMPTY_PATH)
        ),
        target,
    )


def umount(target: str, flags: int = 0) -> None:
    _check(_libc.umount2(os.fsencode(target), flags), target)


def pivot_root(new: str, old: str) -> None:
    number = _SYS_PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(38, f"pivot_root is not known for {os.uname().machine}")
    _check(_libc.syscall(number, os.fsencode(new), os.fsencode(old)), new)


def keep_room(fd: int, length: int) -> None:
    """Has the disk keep room for a file up to this length, which nobody else can take."""
    _check(_libc.fallocate(fd, _FALLOC_KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(length)))


def sethostname(name: str) -> None:
    encoded = os.fsencode(name)
    _check(_libc.sethostname(encoded, len(encoded)))
