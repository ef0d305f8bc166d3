"""The addresses that longshore listens on, the names its certificate has for them, and why it cannot listen.

longshore always listens on the loopback address, which pods and the kubeconfig use; on others only by option.
Without credentials it serves only health and version, on any address.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Iterable, Sequence
from typing import Final

from longshore.apiserver.http.listener import Listener

LOOPBACK = "127.0.0.1"
_EVERYWHERE = ("0.0.0.0", "::")
_PRIVILEGED_PORTS = "/proc/sys/net/ipv4/ip_unprivileged_port_start"


class CannotListen(Exception):
    """longshore cannot listen on the port or address."""


def names(listen: Sequence[str], tls_names: Iterable[str]) -> tuple[str, ...]:
    """The names and addresses by which others reach this server, besides those of the loopback interface."""
    asked = [*tls_names, *(address for address in listen if address not in _EVERYWHERE)]
    return tuple(dict.fromkeys(name for name in asked if name != LOOPBACK))


async def start(
    listener: Listener, listen: Sequence[str], port: int, passed: Sequence[socket.socket] = ()
) -> int:
    """Listens on the loopback address and on those of `listen`, all with the same port, and returns the port.
    An address for which a socket was passed uses that socket."""
    known = {sock.getsockname()[0]: sock for sock in passed}
    for address in addresses(listen):
        try:
            port = await listener.start(address, port, known.get(address))
        except OSError as err:
            raise CannotListen(_words(err, address, port)) from None
    return port


def addresses(listen: Sequence[str]) -> tuple[str, ...]:
    """All addresses to listen on: `listen`, and the loopback address unless `0.0.0.0` includes it."""
    first = "0.0.0.0" if "0.0.0.0" in listen else LOOPBACK
    every = dict.fromkeys((first, *listen))
    return tuple(address for address in every if address != LOOPBACK or first == LOOPBACK)


def url(name: str, port: int) -> str:
    """The server's URL by a name or an address."""
    try:
        is_long = ipaddress.ip_address(name).version == 6
    except ValueError:
        is_long = False
    return f"https://[{name}]:{port}" if is_long else f"https://{name}:{port}"


def _words(err: OSError, address: str, port: int) -> str:
    if err.errno == errno.EADDRINUSE:
        return (
            f"port {port} on {address} is taken by another process; "
            "pass --port 0 for any free one, or another --port"
        )
    if err.errno == errno.EACCES:
        return (
            f"port {port} needs root: user {os.geteuid()} may listen from port {_first_free_port()} on; "
            "pass another --port, or --port 0 for any free one"
        )
    if err.errno == errno.EADDRNOTAVAIL:
        return f"{address} is no address of this machine; pass one that it has with --listen"
    return f"cannot listen on {address}, port {port}: {os.strerror(err.errno or 0)}"


def _first_free_port() -> int:
    try:
        with open(_PRIVILEGED_PORTS) as file:
            return int(file.read())
    except (OSError, ValueError):
        return 1024


# A service manager may open the sockets and pass them on (systemd's LISTEN_FDS). It keeps them open while
# longshore is restarted: clients that connect meanwhile wait, and are not refused. The variables are taken
# out of the environment: they are not for pods.

_FIRST_DESCRIPTOR: Final = 3
"""The descriptor of the first socket: systemd's convention, after the three standard streams."""
_VARIABLES: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")


def of_environment(first: int = _FIRST_DESCRIPTOR) -> tuple[socket.socket, ...]:
    """The sockets that a service manager passed to this process; empty without one."""
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
    """The port of the passed sockets; `port` if there are none. Raises CannotListen for an address that the
    options of longshore do not name."""
    for sock in sockets:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or not _is_listening(sock):
            raise CannotListen("the service manager passes a socket that is not one for TCP connections")
        address, chosen = sock.getsockname()[:2]
        if address != LOOPBACK and address not in listen:
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
