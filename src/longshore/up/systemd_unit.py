"""The systemd unit of a longshore: its text, and where it goes. Installs nothing; see `longshore service`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

NAME: Final = "longshore.service"
STOP_SECONDS: Final = 60

_TEXT: Final = """\
# Written by `longshore service install`; `longshore service remove` takes it away.
[Unit]
Description=longshore, the batch half of Kubernetes
Documentation=man:longshore-up(1)
Wants=network.target
After=network.target

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
Restart=on-failure
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


class Unit(msgspec.Struct, frozen=True):
    """A unit of the machine, or of one user."""

    user: bool
    command: tuple[str, ...]
    """The program and its arguments."""

    @property
    def file(self) -> Path:
        return file(self.user)

    def text(self) -> str:
        return _TEXT.format(
            command=" ".join(quoted(word) for word in self.command),
            stop=STOP_SECONDS,
            wanted_by="default.target" if self.user else "multi-user.target",
        )


def file(user: bool) -> Path:
    """Where the unit's file is."""
    if not user:
        return Path("/etc/systemd/system") / NAME
    config = os.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "systemd" / "user" / NAME


def quoted(word: str) -> str:
    """A word as systemd reads it back: `%` and `$` mean nothing, blanks stay inside."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return plain if plain and not any(sign in plain for sign in " \t'\"\\;") else f'"{plain}"'
