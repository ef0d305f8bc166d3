"""The options of `longshore up`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from longshore.api.retention import Retention
from longshore.machinery.work_limits import WorkLimits
from longshore.up.logs import Logging

if TYPE_CHECKING:
    from longshore.scheduler.gang.conf.conf_file import ConfFile
    from longshore.store.journal import Durability

SHORTCUTS_VARIABLE = "LONGSHORE_SHORTCUTS"
"""`off` in the environment turns all shortcuts off."""
DEFAULT_PORT = 6443
"""The port of Kubernetes itself."""


def shortcuts_are_on(environ: Mapping[str, str]) -> bool:
    """Whether shortcuts (`apiserver/shortcuts`) may be used, also by controllers outside."""
    return environ.get(SHORTCUTS_VARIABLE) != "off"


class Options(msgspec.Struct, frozen=True):
    data_dir: Path | None = None
    """None means the default directory, or with `in_memory` a temporary one."""
    port: int = DEFAULT_PORT
    """0 means any free port."""
    listen: tuple[str, ...] = ()
    """Addresses to listen on besides the loopback address."""
    tls_names: tuple[str, ...] = ()
    """More names and addresses for the server's certificate."""
    certificates: Path | None = None
    """The certificates' directory, which longshores may share; None for `pki` in the data directory."""
    in_memory: bool = False
    durability: Durability = "normal"
    controllers: tuple[str, ...] | None = None
    """Names from `plane.controllers`; None means all of them."""
    scheduler: bool = True
    """Whether longshore schedules pods itself."""
    scheduler_actions: tuple[str, ...] | None = None
    """The actions of a gang cycle; None means Volcano's own choice."""
    scheduler_conf: ConfFile | None = None
    """The file with all settings of gang cycles; None means those of Volcano's Helm chart."""
    node: bool = True
    """Whether this machine is a node that runs pods."""
    node_name: str = ""
    """The node's name; empty for the name in the data directory, which is the machine's at first."""
    runtime: str = "process"
    """The runtime of pods that name none: process, podman, or auto, which chooses by the image table."""
    images: Path | None = None
    """The file with the image table; None for `images.yaml` in the data directory."""
    isolation: Literal["none", "process", "full"] = "full"
    """The isolation of pods that do not choose one: this level, or the strongest that the system allows."""
    node_capacity: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The node's capacity by resource, if it differs from the machine's."""
    logging: Logging = Logging()
    limits: WorkLimits = WorkLimits()
    """How much work controllers do at a time."""
    retention: Retention = Retention()
    """How much is kept of finished work."""
    shortcuts: bool = msgspec.field(default_factory=lambda: shortcuts_are_on(os.environ))
    """Whether shortcuts are used (`apiserver/shortcuts`). Without them every request takes the general path:
    slower, and a way to find out whether a shortcut is to blame."""
    on_stop: Literal["keep", "kill"] = "keep"
    """`keep` leaves pods running and adopts them at the next start; in memory, pods are always killed."""
