"""The systemd units of a longshore, its service and its sockets: their texts, and where they go. Installs
nothing; see `longshore service`.

systemd holds the sockets, so that clients wait while the service restarts and are not refused. The service
starts with the machine all the same: it has work without clients.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

NAME: Final = "longshore.service"
SOCKET_NAME: Final = "longshore.socket"
STOP_SECONDS: Final = 60

_TEXT: Final = """\
# Written by `longshore service install`; `longshore service remove` takes it away.
[Unit]
Description=longshore, the batch half of Kubernetes
Documentation=man:longshore-up(1)
Wants=network.target
After=network.target
{sockets}
[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
{directory}Restart=on-failure
RestartSec=2s
TimeoutStopSec={stop}s
# Pods are not children of longshore's process: they go on while it is restarted or upgraded.
KillMode=process
# A subtree of cgroups of its own: limits of pods are kept by the kernel.
Delegate=yes
# The kernel takes a pod, and not longshore, when memory runs out.
OOMPolicy=continue
LimitNOFILE=65536
TasksMax=infinity
UMask=0077

[Install]
WantedBy={wanted_by}
"""


_SOCKETS: Final = f"""\
# The port is systemd's, so that clients wait while longshore is restarted.
Requires={SOCKET_NAME}
After={SOCKET_NAME}
"""

_SOCKET_TEXT: Final = """\
# Written by `longshore service install`; `longshore service remove` takes it away.
[Unit]
Description=the port of longshore, which stays open while longshore is restarted
Documentation=man:longshore-up(1)

[Socket]
{streams}
# An address of --listen may come up after the socket.
FreeBind=yes
BindIPv6Only=ipv6-only
Backlog=1024

[Install]
WantedBy=sockets.target
"""


class Unit(msgspec.Struct, frozen=True):
    """The service of the machine, or of one user."""

    user: bool
    command: tuple[str, ...]
    """The program and its arguments."""
    has_sockets: bool = True
    """Whether there is a socket unit beside it."""
    directory: str = ""
    """The directory to which relative paths among the arguments refer."""

    @property
    def file(self) -> Path:
        return file(self.user)

    def text(self) -> str:
        return _TEXT.format(
            command=" ".join(quoted(word) for word in self.command),
            directory=f"WorkingDirectory=-{self.directory.replace('%', '%%')}\n" if self.directory else "",
            sockets=_SOCKETS if self.has_sockets else "",
            stop=STOP_SECONDS,
            wanted_by="default.target" if self.user else "multi-user.target",
        )


class SocketUnit(msgspec.Struct, frozen=True):
    """The sockets of the service."""

    user: bool
    addresses: tuple[str, ...]
    """In the order of `longshore.up.listening`: the loopback address or `0.0.0.0`, then others."""
    port: int

    @property
    def file(self) -> Path:
        return file(self.user, SOCKET_NAME)

    def text(self) -> str:
        streams = (
            f"ListenStream=[{each}]:{self.port}" if ":" in each else f"ListenStream={each}:{self.port}"
            for each in self.addresses
        )
        return _SOCKET_TEXT.format(streams="\n".join(streams))


def file(user: bool, name: str = NAME) -> Path:
    """The path of a unit's file."""
    if not user:
        return Path("/etc/systemd/system") / name
    config = os.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "systemd" / "user" / name


def quoted(word: str) -> str:
    """A word quoted for systemd: `%` and `$` have no special meaning, blanks stay inside."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return plain if plain and not any(sign in plain for sign in " \t'\"\\;") else f'"{plain}"'
