"""Runs a program as an ordinary user, with a loopback interface of its own.

`as_newcomer.py UID GID yes|no COMMAND…`; the third word says whether the user may make user namespaces. If
not, the program lives in a user namespace whose own limit of further ones is 0. All of it ends with the
program; nothing of the machine is changed.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")


def enter_user_namespace() -> None:
    """A user namespace with the same users, made by a root that stays outside and maps them."""
    pid = os.getpid()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reading, 1)
        for kind in ("uid_map", "gid_map"):
            Path(f"/proc/{pid}/{kind}").write_text("0 0 4294967295\n")
        os._exit(0)
    unshare(CLONE_NEWUSER)
    os.write(writing, b"1")
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    Path("/proc/sys/user/max_user_namespaces").write_text("0\n")


def main(uid: int, gid: int, may_make_namespaces: bool, command: list[str]) -> None:
    if not may_make_namespaces:
        enter_user_namespace()
    unshare(CLONE_NEWNET)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "yes", sys.argv[4:])
