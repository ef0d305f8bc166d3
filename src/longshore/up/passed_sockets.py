"""Listening sockets that a service manager opened and passes on (systemd's LISTEN_FDS).

The service manager keeps them open while longshore is restarted: whoever connects meanwhile waits, and is not
refused. The variables are taken out of the environment: they are not for pods.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Final

from longshore.up import listening
from longshore.up.listening import CannotListen

_FIRST: Final = 3
"""The descriptor of the first socket: systemd's convention, after the three standard streams."""
_VARIABLES: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")


def of_environment(first: int = _FIRST) -> tuple[socket.socket, ...]:
    """The sockets that were passed to this very process; none without a service manager that does so."""
    pid, count, _ = (os.environ.pop(name, "") for name in _VARIABLES)
    if pid != str(os.getpid()) or not count.isdecimal():
        return ()
    found = []
    for fd in range(first, first + int(count)):
        try:
            os.set_inheritable(fd, False)
            found.append(socket.socket(fileno=fd))
        except OSError as err:
            said = f"descriptor {fd}, which the service manager passes, is no socket: {err.strerror}"
            raise CannotListen(said) from None
    return tuple(found)


def port_of(sockets: Sequence[socket.socket], listen: Sequence[str], port: int) -> int:
    """The port that all of them have; `port` if there are none. Raises CannotListen for one that longshore
    was not told to listen on, whatever the service manager thinks."""
    for sock in sockets:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or not _is_listening(sock):
            raise CannotListen("the service manager passes a socket that is not one for TCP connections")
        address, chosen = sock.getsockname()[:2]
        if address != listening.LOOPBACK and address not in listen:
            said = f"the service manager passes a socket on {address}; to be reached there, pass"
            raise CannotListen(f"{said} --listen {address}")
        if port not in (0, chosen):
            said = (
                f"the service manager passes a socket on port {chosen}, and longshore is to have port {port}"
            )
            raise CannotListen(f"{said}; pass --port {chosen}, or change ListenStream= in the socket unit")
        port = chosen
    return port


def _is_listening(sock: socket.socket) -> bool:
    return bool(sock.type == socket.SOCK_STREAM and sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
