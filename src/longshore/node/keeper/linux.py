"""The system calls that Python 3.11 does not have, by their own names. Each raises OSError as `os` does."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)

NEWNS = 0x00020000
NEWUTS = 0x04000000
NEWIPC = 0x08000000
NEWUSER = 0x10000000
NEWPID = 0x20000000
NEWNET = 0x40000000
SIBLING = 0x00008000
"""CLONE_PARENT: the new process is a child of the caller's parent."""

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC = 32, 4096, 16384
MS_SLAVE = 1 << 19
MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36
_SYS_OPEN_TREE, _SYS_MOVE_MOUNT = 428, 429  # the same everywhere, since Linux 5.2
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_RECURSIVE = -100, 0x100, 0x8000
_OPEN_TREE_CLONE, _F_EMPTY_PATH = 1, 4
_FALLOC_KEEP_SIZE = 1
_SYS_FSOPEN, _SYS_FSCONFIG, _SYS_FSMOUNT, _SYS_MOUNT_SETATTR = 430, 431, 432, 442
_FSCONFIG_CREATE, _CLOEXEC = 6, 1
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_NOEXEC = 1, 2, 4, 8
_PR_SET_SECCOMP, _PR_CAPBSET_READ, _PR_CAPBSET_DROP = 22, 23, 24
_PR_SET_NO_NEW_PRIVS = 38
_FILTER = 2
_SIGCHLD = 17
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_IN_ENTRIES = 0x4 | 0x40 | 0x80 | 0x100 | 0x200 | 0x800  # ATTRIB, MOVED_FROM, _TO, CREATE, DELETE, MOVE_SELF
_IN_ONLY_DIRECTORIES = 0x01000000
_TIOCGPTN, _TIOCSPTLCK = 0x80045430, 0x40045431


def _check(result: int, what: str = "") -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what or None)


def become_subreaper() -> None:
    """Makes this process, instead of init, the new parent of descendants whose parent dies."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def set_name(name: str) -> None:
    """Sets the name that `ps` and `top` show."""
    _check(_libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0))


def set_title(title: str) -> None:
    """Sets the command line that `ps` shows; it is not longer than the one of the start."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    if begin and end > begin:  # zeros if the kernel hides them
        ctypes.memmove(begin, title.encode()[: end - begin - 1].ljust(end - begin, b"\0"), end - begin)


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
    """Mounts a tree that `open_tree` returned."""
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
    """Allocates disk space for a file up to this length, for this file alone."""
    _check(_libc.fallocate(fd, _FALLOC_KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(length)))


def sethostname(name: str) -> None:
    encoded = os.fsencode(name)
    _check(_libc.sethostname(encoded, len(encoded)))


def clone(flags: int) -> int:
    """Forks, with these flags. The caller must have one thread, and the child execute or exit soon."""
    number = _SYS_CLONE.get(os.uname().machine)
    if number is None:
        raise OSError(38, f"clone is not known for {os.uname().machine}")
    pid = int(_libc.syscall(number, ctypes.c_ulong(flags | _SIGCHLD), None, None, None, None))
    if pid < 0:
        _check(pid)
    return pid


def proc_mount() -> int:
    """A new /proc of the caller's PID namespace, not yet mounted anywhere."""
    return _new_mount(b"proc")


def queues_mount() -> int:
    """The directory of POSIX message queues of the caller's IPC namespace, not mounted anywhere."""
    return _new_mount(b"mqueue")


def _new_mount(kind: bytes) -> int:
    made = _descriptor(_libc.syscall(_SYS_FSOPEN, kind, _CLOEXEC))
    try:
        _check(_libc.syscall(_SYS_FSCONFIG, made, _FSCONFIG_CREATE, None, None, 0), kind.decode())
        flags = _ATTR_NOSUID | _ATTR_NODEV | _ATTR_NOEXEC
        return _descriptor(_libc.syscall(_SYS_FSMOUNT, made, _CLOEXEC, flags))
    finally:
        os.close(made)


def make_read_only(path: str) -> None:
    """Makes the mount at a path, and all mounts below it, read-only."""
    attributes = (ctypes.c_uint64 * 4)(_ATTR_RDONLY, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _check(
        _libc.syscall(
            _SYS_MOUNT_SETATTR,
            _AT_FDCWD,
            os.fsencode(path),
            ctypes.c_uint(_AT_RECURSIVE),
            ctypes.byref(attributes),
            size,
        ),
        path,
    )


def open_terminal(multiplexer: str) -> tuple[int, int]:
    """The non-blocking master of a new terminal, and the terminal's number."""
    flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    near = os.open(multiplexer, flags)
    try:
        number, unlocked = ctypes.c_uint(), ctypes.c_int(0)
        _check(_libc.ioctl(near, ctypes.c_ulong(_TIOCGPTN), ctypes.byref(number)), multiplexer)
        _check(_libc.ioctl(near, ctypes.c_ulong(_TIOCSPTLCK), ctypes.byref(unlocked)), multiplexer)
    except OSError:
        os.close(near)
        raise
    return near, number.value


def watching() -> int:
    """A descriptor from which events of watched directories are read, without waiting."""
    return _descriptor(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))


def watch(events: int, directory: str) -> int:
    """Watches a directory for entries that appear, vanish or change attributes. Returns the watch's
    number."""
    mask = ctypes.c_uint32(_IN_ENTRIES | _IN_ONLY_DIRECTORIES)
    return _descriptor(_libc.inotify_add_watch(events, os.fsencode(directory), mask))


def unwatch(events: int, number: int) -> None:
    _check(_libc.inotify_rm_watch(events, number))


def raise_loopback() -> None:
    """Turns on the loopback interface of a new network namespace."""
    sock = _descriptor(_libc.socket(2, 2 | os.O_CLOEXEC, 0))
    try:
        request = ctypes.create_string_buffer(b"lo", 40)
        _check(_libc.ioctl(sock, ctypes.c_ulong(_SIOCGIFFLAGS), request))
        request[16] = bytes([request.raw[16] | _IFF_UP])
        _check(_libc.ioctl(sock, ctypes.c_ulong(_SIOCSIFFLAGS), request))
    finally:
        os.close(sock)


def forbid_new_privileges() -> None:
    """Sets no_new_privs: this process and its programs gain no rights by a file's owner or capabilities."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def bounding_set() -> int:
    """The capabilities that a program executed from now on may have, a bit each."""
    found = 0
    for number in range(64):
        has = _libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0)
        if has < 0:
            break
        found |= has << number
    return found


def drop_from_bounding_set(number: int) -> None:
    _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0))


def install_filter(program: bytes) -> None:
    """Installs a seccomp filter for this process and its descendants."""
    code = ctypes.create_string_buffer(program, len(program))
    count = ctypes.c_uint16(len(program) // 8)
    header = bytes(count).ljust(ctypes.sizeof(ctypes.c_void_p), b"\0")
    pointer = ctypes.c_void_p(ctypes.addressof(code))
    described = ctypes.create_string_buffer(header + bytes(pointer))
    _check(_libc.prctl(_PR_SET_SECCOMP, _FILTER, described, 0, 0))


def _descriptor(result: int) -> int:
    if result < 0:
        _check(result)
    return result


def join(pid: int, kinds: int) -> None:
    """Enters namespaces of a process."""
    pidfd = os.pidfd_open(pid)
    try:
        setns(pidfd, kinds)
    finally:
        os.close(pidfd)
