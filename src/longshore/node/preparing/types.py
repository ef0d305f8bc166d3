"""The contract of a preparer of pods, its inputs and results, and its two errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from longshore.api.types import Obj
from longshore.node.runtime import Container, Mount
from longshore.node.runtime_choice import RuntimeByImage, RuntimeClasses

if TYPE_CHECKING:
    from longshore.machinery.informers.informer import Informers
    from longshore.node.preparing.environment.sources import Sources


class NotReady(Exception):
    """The pod cannot start now, and may later. `reason` is that of its event (FailedMount)."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class CannotPrepare(Exception):
    """One container cannot start now, and waits with `reason`. A later try, after `refresh`, may succeed.
    With `for_good` only another manifest, or another longshore, helps."""

    def __init__(self, reason: str, message: str, *, for_good: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.for_good = for_good


class Server(msgspec.Struct, frozen=True):
    """The address of the API server for pods, and its CA."""

    host: str
    port: int
    ca_pem: str


class NodeFacts(msgspec.Struct, frozen=True):
    """The facts of the node that preparing needs."""

    name: str
    host_ip: str = "127.0.0.1"
    allocatable: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Quantities, which the downward API shows as limits of a container without limits."""
    runtime: str = "process"
    """The runtime of pods that name none by `runtimeClassName`."""
    by_image: RuntimeByImage | None = None
    """Chooses the runtime of pods that name none; None where `runtime` runs them all."""
    classes: RuntimeClasses = msgspec.field(default_factory=RuntimeClasses)
    user: int = msgspec.field(default_factory=os.geteuid)
    group: int = msgspec.field(default_factory=os.getegid)
    """The user that longshore runs as; only root can run containers as another user."""
    isolation: str = "none"
    """The level of pods that ask for none: `none`, `process` or `full`."""
    data_directory: Path | None = None
    """The data directory, of which pods may mount only volumes; None if it has no secrets."""
    memory_directory: Path = Path("/dev/shm")
    """Where emptyDirs of medium Memory lie."""


class Volume(msgspec.Struct, frozen=True):
    """A volume of a pod, ready to be mounted."""

    path: str
    read_only: bool = False


class PreparedPod(msgspec.Struct):
    """A pod whose volumes are there. Changed by `Preparer.refresh` alone."""

    uid: str
    volumes: dict[str, Volume] = msgspec.field(default_factory=dict)
    sources: Sources | None = None
    """The ConfigMaps and Secrets that its containers' variables come from; None if none do."""
    account: tuple[Mount, ...] = ()
    """The service account's files, for containers that do not mount that path themselves."""
    warnings: tuple[str, ...] = ()
    """Settings of the manifest that are not available here, a sentence each, for one event."""
    follows: bool = False
    """Whether files on disk follow objects of the API: then `refresh` must be called now and then."""


class Preparation(Protocol):
    """Prepares pods and containers. Raises NotReady and CannotPrepare."""

    async def run(self, informers: Informers) -> None:
        """Keeps shared files current, until cancelled."""

    def at_once(self, pod: Obj) -> PreparedPod | None:
        """The result of `pod` if it is known without waiting, else None."""

    async def pod(self, pod: Obj) -> PreparedPod:
        """Makes volumes, or finds them as they are."""

    def container(
        self, prepared: PreparedPod, pod: Obj, spec: Obj, attempt: int, pod_ip: str
    ) -> Container: ...

    async def refresh(self, prepared: PreparedPod, pod: Obj) -> None:
        """Updates the files that come from other objects."""

    def stopped(self, pod_uid: str) -> None:
        """Called when nothing of the pod runs or will run again."""

    async def remove(self, pod_uid: str) -> None: ...

    async def known(self) -> set[str]:
        """Uids of pods with something on disk. Called once, when all pods of the node are known."""
