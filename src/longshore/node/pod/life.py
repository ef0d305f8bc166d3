"""One pod on this node: its memory, its runtime, and what is under way for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from longshore.api.types import Obj
from longshore.machinery.time.clock import Timer
from longshore.node.pod.memory import ContainerMemory, PodMemory
from longshore.node.runtime import FilePath, Key

if TYPE_CHECKING:
    from longshore.node.preparing.types import PreparedPod
    from longshore.node.probes.prober import Probing
    from longshore.node.runtime import Runtime


class Paths(msgspec.Struct):
    """The files with a container's termination message and log."""

    termination: FilePath | None
    log: FilePath | None


class Life(msgspec.Struct):
    memory: PodMemory
    runtime: Runtime | None
    """None when the pod wants a runtime this node does not have."""
    adopting: bool = False
    """Whether the pod is being recalled after a restart; nothing is decided meanwhile."""
    queued: bool = False
    """Whether the pod will be synced in this turn of the loop."""
    timer: Timer | None = None
    due: float = 0.0
    """When the timer is due."""
    prepared: PreparedPod | None = None
    """None until the preparer is done."""
    probing: dict[str, Probing] = msgspec.field(default_factory=dict)
    """The probes that run on its containers, by name."""
    paths: dict[str, Paths] = msgspec.field(default_factory=dict)
    keys: set[Key] = msgspec.field(default_factory=set)
    """The containers that the runtime remembers."""
    final: bool = False
    """Whether no container of the pod runs or will run again."""
    hold: float = 0.0
    """The moment until which the status is held back; 0 if it is not held back."""
    held: float = 0.0
    """The moment since which the status is held back."""
    writing: bool = False
    dirty: bool = False
    """Whether the status must be written again after the write under way."""
    written: Obj | None = None
    """The status as last written."""
    closed: bool = False
    """Whether the final status is in the API, or the API has deleted the pod."""

    @property
    def runtime_name(self) -> str:
        return self.runtime.name if self.runtime is not None else ""

    def record(self, name: str) -> ContainerMemory | None:
        memory = self.memory
        for record in memory.mains:
            if record.facts.name == name:
                return record
        for record in (*memory.inits, *memory.ephemerals):
            if record.facts.name == name:
                return record
        return None
