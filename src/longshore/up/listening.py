"""The addresses that longshore listens on, the names its certificate has for them, and why it cannot listen.

It listens on the loopback address always, since pods and the kubeconfig use that one; on others only if told
so. Nothing is served without credentials on any of them but health and version.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Iterable, Sequence

from longshore.apiserver.http.listener import Listener

LOOPBACK = "127.0.0.1"
_EVERYWHERE = ("0.0.0.0", "::")
_PRIVILEGED_PORTS = "/proc/sys/net/ipv4/ip_unprivileged_port_start"


class CannotListen(Exception):
    """The port or address cannot be listened on."""


def names(listen: Sequence[str], tls_names: Iterable[str]) -> tuple[str, ...]:
    """The names and addresses, besides those of the loopback interface, that others reach this server by."""
    asked = [*tls_names, *(address for address in listen if address not in _EVERYWHERE)]
    return tuple(dict.fromkeys(name for name in asked if name != LOOPBACK))


async def start(
    listener: Listener, listen: Sequence[str], port: int, passed: Sequence[socket.socket] = ()
) -> int:
    """Listens on the loopback address and on these, all with the same port, which is returned. For an address
    that a passed socket listens on, that one is taken."""
    known = {sock.getsockname()[0]: sock for sock in passed}
    for address in addresses(listen):
        try:
            port = await listener.start(address, port, known.get(address))
        except OSError as err:
            raise CannotListen(_words(err, address, port)) from None
    return port


def addresses(listen: Sequence[str]) -> tuple[str, ...]:
    """All that it listens on: these, and the loopback address unless they mean that one, too."""
    first = "0.0.0.0" if "0.0.0.0" in listen else LOOPBACK
    every = dict.fromkeys((first, *listen))
    return tuple(address for address in every if address != LOOPBACK or first == LOOPBACK)


def url(name: str, port: int) -> str:
    """The server's address by a name or an address."""
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
