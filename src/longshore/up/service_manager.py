"""Tells a service manager how a longshore is doing, by systemd's notification protocol.

A datagram to the socket that `NOTIFY_SOCKET` names: `READY=1` when requests are answered, `STOPPING=1` when
the end begins, and `STATUS=` with a line for `systemctl status`. Other service managers and tests speak it,
too. Without the variable nothing is sent. The variable is taken out of the environment: pods must not speak
for longshore.
"""

from __future__ import annotations

import logging
import os
import socket
from typing import Final

VARIABLE: Final = "NOTIFY_SOCKET"

log = logging.getLogger(__name__)


class ServiceManager:
    """The one that started this process, if one did."""

    def __init__(self, address: str = "") -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address

    @classmethod
    def of_environment(cls) -> ServiceManager:
        return cls(os.environ.pop(VARIABLE, ""))

    def ready(self, status: str) -> None:
        self._tell(f"READY=1\nSTATUS={status}\nMAINPID={os.getpid()}")

    def stopping(self) -> None:
        self._tell("STOPPING=1\nSTATUS=stopping")

    def _tell(self, lines: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
                to.sendto(lines.encode(), self._address)
        except OSError as err:
            log.warning("the service manager at %s was not told: %s", self._address, err)
