"""The inputs and results of preparing, and its two errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from longshore.node.engine_by_image import EngineByImage
from longshore.node.runtime import Mount
from longshore.node.runtime_classes import RuntimeClasses

if TYPE_CHECKING:
    from longshore.node.preparing.environment.sources import Sources


class NotReady(Exception):
    """The pod cannot start now, and may later. `reason` is that of its event (FailedMount)."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class CannotPrepare(Exception):
    """One container cannot start as things are, and waits with `reason`. Try again after `refresh`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Server(msgspec.Struct, frozen=True):
    """Where pods find the API server, and whom to trust about it."""

    host: str
    port: int
    ca_pem: str


class NodeFacts(msgspec.Struct, frozen=True):
    """The facts of the node that preparing needs."""

    name: str
    host_ip: str = "127.0.0.1"
    allocatable: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Quantities; what `limits.cpu` is in the downward API where a container has no limit."""
    engine: str = "process"
    """The engine of pods that name none by `runtimeClassName`."""
    by_image: EngineByImage | None = None
    """Chooses the engine of pods that name none; None where `engine` runs them all."""
    classes: RuntimeClasses = msgspec.field(default_factory=RuntimeClasses)
    user: int = msgspec.field(default_factory=os.geteuid)
    group: int = msgspec.field(default_factory=os.getegid)
    """Whom the process engine runs containers as; only root can run them as somebody else."""
    isolation: str = "none"
    """The level of pods that ask for none: `none`, `process` or `full`."""
    memory_directory: Path = Path("/dev/shm")
    """Where emptyDirs of medium Memory lie."""


class Volume(msgspec.Struct, frozen=True):
    """A volume of a pod, ready to be mounted."""

    path: str
    read_only: bool = False
    size_limit: int | None = None
    """Bytes an emptyDir may grow to; crossing it evicts the pod, which is the agent's to do."""


class PreparedPod(msgspec.Struct):
    """A pod whose volumes are there. Changed by `Preparer.refresh` alone."""

    uid: str
    volumes: dict[str, Volume] = msgspec.field(default_factory=dict)
    sources: Sources | None = None
    """The ConfigMaps and Secrets that its containers' variables come from; None if none do."""
    account: tuple[Mount, ...] = ()
    """The service account's files, for containers that do not mount that path themselves."""
    hosts: Mount | None = None
    """The pod's own /etc/hosts, if it asks for names that the machine's does not have."""
    warnings: tuple[str, ...] = ()
    """Settings of the manifest that are not available here, a sentence each, for one event."""
    follows: bool = False
    """Whether something on disk follows objects of the API: then call `refresh` now and then."""
