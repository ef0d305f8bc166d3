"""The nursery: a small child of the keeper that forks what the keeper cannot.

The keeper gives up rights (rights.py) and moves its future children into PID namespaces, from which an
ordinary user has no way back. The nursery was forked before, and stays as it was. It makes new PID namespaces
with their first process, and forks containers that need what the keeper gave up. All it forks are children of
the keeper, by CLONE_PARENT. A request is in a file in memory that only the forked one reads, so nothing of
one container is ever in the memory of another.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import socket
from collections.abc import Sequence

from longshore.node.keeper.processes import births, linux
from longshore.node.keeper.walls import first_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_ROOM, _NETWORK_ROOM, _BIRTH, _REMOVAL = b"r", b"n", b"b", b"d"
FIRST_NAME = "init"
"""The name of the first process of a PID namespace, in `ps`."""
_MAX_DESCRIPTORS = 16
_FLAGS = {
    _ROOM: linux.SIBLING | linux.NEWPID | linux.NEWUTS,
    _NETWORK_ROOM: linux.SIBLING | linux.NEWPID | linux.NEWUTS | linux.NEWNET,
    _BIRTH: linux.SIBLING,
    _REMOVAL: 0,
}


class Nursery:
    def __init__(self) -> None:
        self._sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._sock.close()
            _serve(theirs)
        theirs.close()

    def order_room(self, *, network: bool) -> socket.socket:
        """Asks for a new PID namespace. Its first process speaks on the socket: see `receive_room`."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._sock, [_NETWORK_ROOM if network else _ROOM], [theirs.fileno()])
        return ours

    def bear(self, request: Any, descriptors: Sequence[int]) -> None:
        """Forks a process that does what births.py says of the request, with these descriptors."""
        self._send(_BIRTH, request, descriptors)

    def remove(self, directory: str) -> None:
        """Removes a directory with all in it, meanwhile."""
        self._send(_REMOVAL, directory, ())

    def _send(self, word: bytes, request: Any, descriptors: Sequence[int]) -> None:
        memory = os.memfd_create("longshore", os.MFD_CLOEXEC)
        try:
            data = memoryview(marshal.dumps(request, 2))
            while data:
                data = data[os.write(memory, data) :]
            os.lseek(memory, 0, os.SEEK_SET)
            socket.send_fds(self._sock, [word], [memory, *descriptors])
        finally:
            os.close(memory)


def receive_room(sock: socket.socket) -> tuple[int, int]:
    """The pid of the first process, and a /proc of its namespace to mount. Raises OSError."""
    pid, proc = 0, -1
    while not pid or proc < 0:
        data, descriptors, _, _ = socket.recv_fds(sock, 512, 1)
        if descriptors:
            proc = descriptors[0]
            os.set_inheritable(proc, False)
        elif data[:4] == b"pid ":
            pid = int(data[4:])
        else:
            if proc >= 0:
                os.close(proc)
            raise OSError(data.decode(errors="replace") or "its first process ended at once")
    return pid, proc


def _serve(sock: socket.socket) -> NoReturn:
    linux.set_name("longshore-nurse")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that remove directories, which nobody waits for
    while True:
        try:
            word, descriptors, _, _ = socket.recv_fds(sock, 1, _MAX_DESCRIPTORS)
        except OSError:
            word, descriptors = b"", []
        if not word:
            os._exit(0)  # the keeper is gone
        for fd in descriptors:
            os.set_inheritable(fd, False)
        problem, pid = "", -1
        try:
            pid = linux.clone(_FLAGS[word])
        except OSError as error:
            problem = str(error)
        if pid == 0:
            _child(word, sock, descriptors)
        if word in (_ROOM, _NETWORK_ROOM):
            with contextlib.suppress(OSError):  # the keeper is gone
                os.write(descriptors[0], f"pid {pid}".encode() if pid > 0 else problem.encode())
        for fd in descriptors:
            os.close(fd)


def _child(word: bytes, sock: socket.socket, descriptors: list[int]) -> NoReturn:
    try:
        sock.close()
        if word in (_BIRTH, _REMOVAL):
            with os.fdopen(descriptors[0], "rb") as file:
                request = marshal.loads(file.read())
            if word == _BIRTH:
                births.be_born(request, descriptors[1:])
            else:
                _remove(request)
        else:
            linux.set_name(FIRST_NAME)
            linux.set_title(FIRST_NAME)
            first_process.live(descriptors[0], network=word == _NETWORK_ROOM)
    except BaseException as error:
        if word in (_ROOM, _NETWORK_ROOM):
            os.write(descriptors[0], str(error).encode()[:400] or b"it failed")
    finally:
        os._exit(127)


def _remove(directory: str) -> None:
    """By descriptors, so that no link leads anywhere else."""
    for _, folders, files, at in os.fwalk(directory, topdown=False):
        for name in files:
            os.unlink(name, dir_fd=at)
        for name in folders:
            try:
                os.rmdir(name, dir_fd=at)
            except NotADirectoryError:
                os.unlink(name, dir_fd=at)  # a link to a directory
    os.rmdir(directory)
