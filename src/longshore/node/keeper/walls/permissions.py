"""Finds out what this system lets the keeper's user do with namespaces, by trying it in children."""

from __future__ import annotations

import functools
import os

from longshore.node.keeper import linux
from longshore.node.keeper.walls import system_mounts, users


def problem() -> str:
    """Why containers cannot have mounts of their own here, or ""."""
    return _way()[1]


def become_own_root() -> str:
    """Gets the right to mount. Returns why not, or ""."""
    flags, found = _way()
    if not found and not users.is_machine_root():
        _become_own_root(flags)
    return found


def _way() -> tuple[int, str]:
    """The flags of unshare that give the right to mount, and the problem if no flags do, else "".

    Root of the machine has the right without flags. Root of a user namespace (a rootless container, `unshare
    -r`) cannot return to older namespaces, so the keeper makes a mount and a UTS namespace. Any other user
    also makes a user namespace."""
    if users.is_machine_root():
        return 0, _tried(_unshare_mounts)
    found = ""
    for flags in (0, linux.NEWUSER) if os.geteuid() == 0 else (linux.NEWUSER,):
        found = _tried(functools.partial(_become_own_root, flags))
        if not found:
            return flags, ""
    return 0, found


def _become_own_root(flags: int) -> None:
    uid, gid = os.geteuid(), os.getegid()
    # The host's name, too: a process that left that namespace could not return to it.
    linux.unshare(flags | linux.NEWNS | linux.NEWUTS)
    maps = (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1"))
    for name, text in maps if flags & linux.NEWUSER else ():
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)


def _unshare_mounts() -> None:
    linux.unshare(linux.NEWNS)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)


def terminals_problem() -> str:
    """Why containers can have no terminals of their own, and so no walls, or ""."""
    return _tried(_mount_terminals)


def _mount_terminals() -> None:
    _unshare_mounts()
    system_mounts.own_terminals()


def full_problem() -> str:
    """Why containers can have no walls of level full, or ""."""
    return _tried(_mount_fully)


def _mount_fully() -> None:
    """Mounts what level full has beyond level process."""
    _unshare_mounts()
    system_mounts.own_devices()
    system_mounts.own_terminals()
    system_mounts.hide("/tmp")
    if os.geteuid() == 0:
        system_mounts.protect_kernel()


def _tried(what: object) -> str:
    """Runs `what` in a child, because it cannot be undone. Returns its error, or ""."""
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
