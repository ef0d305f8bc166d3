"""The system calls that a container of level `full` cannot make, as a filter the kernel runs.

Denied are calls that get around all walls: the kernel's own programs, modules and keys, kexec, file handles,
the clock, and user namespaces, in which an ordinary user could try the rest. libseccomp is not needed: the
filter is a list of numbers. Mounting needs no line here, because it needs a capability that containers lack;
so the keeper can install the filter for itself and pass it on to what it spawns.
"""

from __future__ import annotations

import errno
import os
import struct

from longshore.node.keeper import linux

_LOAD, _EQUAL, _NOT_BELOW, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_AT, _SECOND_AT = 0, 4, 16, 24  # offsets in struct seccomp_data
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_TIOCSTI = 0x5412
"""The ioctl that puts input into the terminal of another process."""
_X32 = 0x40000000

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""The kernel's number of an architecture, and the column of its system calls."""

_DENIED = {
    "_sysctl": (156, None),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "userfaultfd": (323, 282),
    "uselib": (134, None),
    "ustat": (136, None),
}
_CLONE, _CLONE3, _UNSHARE, _IOCTL = (56, 220), (435, 435), (272, 97), (16, 29)


def program() -> bytes:
    """The filter for this machine; empty where its system calls are not known."""
    known = _ARCHITECTURES.get(os.uname().machine)
    if known is None:
        return b""
    architecture, column = known
    code = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, architecture, 1, 0),
        _step(_RETURN, _FAIL | errno.ENOSYS),  # 32-bit programs have other numbers
        _step(_LOAD, _NUMBER_AT),
        _step(_NOT_BELOW, _X32, 0, 1),
        _step(_RETURN, _FAIL | errno.ENOSYS),
    ]
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            code += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _FAIL | errno.EPERM)]
    # Its flags are in memory, where a filter cannot look; libraries then use clone.
    code += [_step(_EQUAL, _CLONE3[column], 0, 1), _step(_RETURN, _FAIL | errno.ENOSYS)]
    for call, at, test, value in (
        (_CLONE, _FIRST_AT, _ANY_BIT, linux.NEWUSER),
        (_UNSHARE, _FIRST_AT, _ANY_BIT, linux.NEWUSER),
        (_IOCTL, _SECOND_AT, _EQUAL, _TIOCSTI),
    ):
        code += [
            _step(_EQUAL, call[column], 0, 4),
            _step(_LOAD, at),
            _step(test, value, 0, 1),
            _step(_RETURN, _FAIL | errno.EPERM),
            _step(_RETURN, _ALLOW),
        ]
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
