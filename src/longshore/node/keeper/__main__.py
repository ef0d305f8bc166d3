"""`python -m longshore.node.keeper DIR`: becomes the keeper of a directory, in the background.

Exits with 0 when the keeper answers, or with 1 and the reason on standard error. A directory has one keeper:
a second one waits a moment for the first to leave and then gives up.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import resource
import socket
import sys
import time

from longshore.node.keeper import frames, linux
from longshore.node.keeper.keeper import Keeper
from longshore.node.keeper.walls import permissions
from longshore.node.keeper.walls.fork_server import ForkServer
from longshore.node.keeper.walls.namespaces import Namespaces

_LOCK_SECONDS = 5.0
_MAX_OPEN_FILES = 65536


def main() -> int:
    _close_inherited()
    directory = os.path.abspath(sys.argv[1])
    os.makedirs(directory, mode=0o700, exist_ok=True)
    lock = os.open(os.path.join(directory, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    told, tell = os.pipe2(os.O_CLOEXEC)
    if os.fork():
        os.close(tell)
        said = os.read(told, 4096)
        if said != b"ready":
            sys.stderr.write(said.decode(errors="replace") or "the keeper ended at once, see keeper.log\n")
            return 1
        return 0
    os.setsid()
    _detach(directory)
    try:
        if not _acquire(lock):
            os.write(tell, b"another keeper holds this directory and does not answer\n")
            return 1
        linux.become_subreaper()
        _allow_many_files()
        linux.set_name("longshore-keep")
        problem = permissions.become_own_root()
        fork_server = None if problem else ForkServer()
        keeper = Keeper(directory, _listen(directory), Namespaces(directory, problem, fork_server))
        keeper.recover()
    except OSError as error:
        os.write(tell, f"{error}\n".encode())
        return 1
    os.write(tell, b"ready")
    os.close(tell)
    os.close(told)
    gc.freeze()
    keeper.run()
    return 0


def _close_inherited() -> None:
    """Closes all descriptors except the standard streams, which containers would inherit."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):  # the one that listed them
                os.close(int(name))


def _detach(directory: str) -> None:
    """Replaces the standard streams and the working directory: the keeper keeps no terminal or mount busy."""
    null = os.open("/dev/null", os.O_RDWR)
    log = os.open(os.path.join(directory, "keeper.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(log, 2)
    os.set_inheritable(null, False)
    os.set_inheritable(log, False)
    os.chdir("/")
    os.umask(0o022)


def _allow_many_files() -> None:
    """Raises the limit of open files: each running container takes three, and the usual limit is 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _acquire(lock: int) -> bool:
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.02)


def _listen(directory: str) -> socket.socket:
    """Listens on the socket, which only this user can open. A long path is bound from its directory."""
    os.chdir(directory)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(frames.SOCKET)
    mask = os.umask(0o177)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(frames.SOCKET)
    server.listen(64)
    os.umask(mask)
    os.chdir("/")
    return server


sys.exit(main())
