"""Permissions: what this system lets the keeper's user do with namespaces. Tried out, in children."""

from __future__ import annotations

import os

from longshore.node.keeper.processes import linux
from longshore.node.keeper.walls import furnishing


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


def terminals_problem() -> str:
    """Why containers can have no terminals of their own, and so no walls, or ""."""
    return _tried(_furnish_terminals)


def _furnish_terminals() -> None:
    _unshare_mounts()
    furnishing.own_terminals()


def full_problem() -> str:
    """Why containers can have no walls of level full, or ""."""
    return _tried(_furnish_fully)


def _furnish_fully() -> None:
    """Mounts what level full has beyond level process."""
    _unshare_mounts()
    furnishing.own_devices()
    furnishing.own_terminals()
    furnishing.hide("/tmp")
    if os.geteuid() == 0:
        furnishing.protect_kernel()


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
