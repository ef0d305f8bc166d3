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
"""Kubernetes' own."""


class Options(msgspec.Struct, frozen=True):
    data_dir: Path | None = None
    """None means the default directory, or with `in_memory` one that goes with the process."""
    port: int = DEFAULT_PORT
    """0 means any free one."""
    listen: tuple[str, ...] = ()
    """Addresses to listen on besides the loopback address."""
    tls_names: tuple[str, ...] = ()
    """More names and addresses that the server's certificate is good for."""
    in_memory: bool = False
    durability: Durability = "normal"
    controllers: tuple[str, ...] | None = None
    """Names from `plane.controllers`; None means all of them."""
    scheduler: bool = True
    """Whether pods are given nodes here."""
    scheduler_actions: tuple[str, ...] | None = None
    """The actions of a gang cycle; None means Volcano's own choice."""
    scheduler_conf: ConfFile | None = None
    """The file with all settings of gang cycles; None means those of Volcano's Helm chart."""
    workloads: bool = False
    """Whether Kubernetes' own gangs, which are alpha, are served and scheduled."""
    node: bool = True
    """Whether pods run here."""
    runtime: str = "process"
    """The engine of pods that name none: process, podman, or auto: by what is known of their images."""
    images: Path | None = None
    """The file that says what images mean here; None for `images.yaml` in the data directory."""
    isolation: Literal["none", "process", "full"] = "full"
    """The walls around pods that do not say which: this level, or the strongest below it that the system
    allows."""
    node_capacity: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The node's capacity by resource, where it differs from the machine's."""
    logging: Logging = Logging()
    limits: WorkLimits = WorkLimits()
    """How much controllers do at a time."""
    retention: Retention = Retention()
    """How much is kept of what is over."""
    shortcuts: bool = msgspec.field(default_factory=lambda: os.environ.get(SHORTCUTS_VARIABLE) != "off")
    """Whether work is spared where nobody notices (`apiserver/shortcuts`). Off, every request
    goes the long way: slower, and a way to tell whether a shortcut is to blame."""
    on_stop: Literal["keep", "kill"] = "keep"
    """Whether pods go on when longshore stops, and are found again by the next one. In memory nothing is."""
