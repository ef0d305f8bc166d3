"""The fork server: a small child of the keeper that forks what the keeper cannot.

The keeper gives up rights (rights.py) and moves its future children into PID namespaces, from which an
ordinary user has no way back. The fork server was forked before that, and keeps all rights. It makes new PID
namespaces with their first process, and forks containers that need what the keeper gave up. All it forks are
children of the keeper, by CLONE_PARENT. A request is in a memfd that only the forked process reads, so no
container's memory ever holds the request of another.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import socket
from collections.abc import Sequence

from longshore.node.keeper import container_exec, linux
from longshore.node.keeper.walls import namespace_holders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_PID_NAMESPACE, _NETWORK_PID_NAMESPACE, _CONTAINER, _REMOVAL = b"r", b"n", b"b", b"d"
_PAUSE, _NETWORK_PAUSE = b"p", b"q"
_ANSWERED = (_PID_NAMESPACE, _NETWORK_PID_NAMESPACE, _PAUSE, _NETWORK_PAUSE)
"""Requests for a process that speaks to the keeper on a socket of its own."""
FIRST_NAME = "init"
"""The name of the first process of a PID namespace, in `ps`."""
PAUSE_NAME = "pause"
"""The name of a process that holds the namespaces of a pod."""
_MAX_DESCRIPTORS = 16
_FLAGS = {
    _PID_NAMESPACE: linux.SIBLING | linux.NEWPID | linux.NEWUTS,
    _NETWORK_PID_NAMESPACE: linux.SIBLING | linux.NEWPID | linux.NEWUTS | linux.NEWNET,
    _PAUSE: linux.SIBLING | linux.NEWIPC,
    _NETWORK_PAUSE: linux.SIBLING | linux.NEWIPC | linux.NEWNET,
    _CONTAINER: linux.SIBLING,
    _REMOVAL: 0,
}


class ForkServer:
    def __init__(self) -> None:
        self._sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._sock.close()
            _serve(theirs)
        theirs.close()

    def order_pid_namespace(self, *, network: bool) -> socket.socket:
        """Asks for a new PID namespace. Its first process speaks on the socket: see `receive_process`."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(
                self._sock, [_NETWORK_PID_NAMESPACE if network else _PID_NAMESPACE], [theirs.fileno()]
            )
        return ours

    def order_pause(self, lock: int, *, network: bool) -> socket.socket:
        """Asks for namespaces of a pod. The process that holds them speaks on the socket: see
        `receive_process`; `lock` is for namespace_holders.py."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            word = _NETWORK_PAUSE if network else _PAUSE
            socket.send_fds(self._sock, [word], [theirs.fileno(), lock])
        return ours

    def fork_container(self, request: Any, descriptors: Sequence[int]) -> None:
        """Forks a process that runs `container_exec.exec_container` with the request and the descriptors."""
        self._send(_CONTAINER, request, descriptors)

    def remove(self, directory: str) -> None:
        """Removes a directory and its content, in the background."""
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


def receive_process(sock: socket.socket) -> tuple[int, int]:
    """The pid of the new process, and the descriptor that it sends: a /proc to mount (first process of a PID
    namespace), or its mount namespace (pause process). Raises OSError."""
    pid, sent = 0, -1
    while not pid or sent < 0:
        data, descriptors, _, _ = socket.recv_fds(sock, 512, 1)
        if descriptors:
            sent = descriptors[0]
            os.set_inheritable(sent, False)
        elif data[:4] == b"pid ":
            pid = int(data[4:])
        else:
            if sent >= 0:
                os.close(sent)
            raise OSError(data.decode(errors="replace") or "its first process ended at once")
    return pid, sent


def _serve(sock: socket.socket) -> NoReturn:
    linux.set_name("longshore-fork")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that remove directories are not waited for
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
        if word in _ANSWERED:
            with contextlib.suppress(OSError):  # the keeper is gone
                os.write(descriptors[0], f"pid {pid}".encode() if pid > 0 else problem.encode())
        for fd in descriptors:
            os.close(fd)


def _child(word: bytes, sock: socket.socket, descriptors: list[int]) -> NoReturn:
    try:
        sock.close()
        if word in (_CONTAINER, _REMOVAL):
            with os.fdopen(descriptors[0], "rb") as file:
                request = marshal.loads(file.read())
            if word == _CONTAINER:
                container_exec.exec_container(request, descriptors[1:])
            else:
                _remove(request)
        elif word in (_PAUSE, _NETWORK_PAUSE):
            linux.set_name(PAUSE_NAME)
            linux.set_title(PAUSE_NAME)
            namespace_holders.hold_pod_namespaces(*descriptors, network=word == _NETWORK_PAUSE)
        else:
            linux.set_name(FIRST_NAME)
            linux.set_title(FIRST_NAME)
            namespace_holders.hold_pid_namespace(descriptors[0], network=word == _NETWORK_PID_NAMESPACE)
    except BaseException as error:
        if word in _ANSWERED:
            os.write(descriptors[0], str(error).encode()[:400] or b"it failed")
    finally:
        os._exit(127)


def _remove(directory: str) -> None:
    """Removes a tree by descriptors, so that no link leads elsewhere. Directories are moved to the top before
    they are emptied: a container may have nested them deeper than a stack goes."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    top = os.open(directory, flags)
    moved = 0
    folders = _without_files(top)
    while folders:
        name = folders.pop()
        inner = os.open(name, flags, dir_fd=top)
        for below in _without_files(inner):
            moved += 1
            while os.path.lexists(f"/proc/self/fd/{top}/{moved}"):
                moved += 1
            os.rename(below, str(moved), src_dir_fd=inner, dst_dir_fd=top)
            folders.append(str(moved))
        os.close(inner)
        os.rmdir(name, dir_fd=top)
    os.rmdir(directory)


def _without_files(folder: int) -> list[str]:
    """Removes the files of a directory, and returns the names of the directories in it."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
    return found
