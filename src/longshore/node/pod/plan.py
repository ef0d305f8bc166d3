"""The next steps of a pod, as data. A plan is never changed; the parts that every pod needs are not `frozen`,
which would cost ten times as much.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from longshore.machinery.reasons import Reason
from longshore.node.pod.memory import ContainerMemory, PodVerdict, Waiting


class Start(msgspec.Struct, frozen=True):
    """Prepare the container and have the runtime start it; `again` after an earlier run."""

    record: ContainerMemory
    again: bool = False
    backoff: float = 0.0
    """The pause after the next crash, if it comes soon."""


class Wait(msgspec.Struct, frozen=True):
    """Delay the next start; the container's status says `waiting` meanwhile."""

    record: ContainerMemory
    waiting: Waiting


class BeginStop(msgspec.Struct, frozen=True):
    """Stop the container: its grace period begins."""

    record: ContainerMemory
    grace: float
    message: str


class Shorten(msgspec.Struct, frozen=True):
    """Shorten the grace period of a stopping container."""

    record: ContainerMemory
    grace: float


class Signal(msgspec.Struct, frozen=True):
    record: ContainerMemory
    name: Literal["stop", "kill"]


class Hook(msgspec.Struct, frozen=True):
    record: ContainerMemory
    name: Literal["postStart", "preStop"]


class Probe(msgspec.Struct, frozen=True):
    """Begin to probe the container."""

    record: ContainerMemory


class Prepare(msgspec.Struct):
    """Make the pod's volumes and read what its environment refers to."""


class Fail(msgspec.Struct, frozen=True):
    """Fail the pod; its containers are stopped first."""

    verdict: PodVerdict


Action: TypeAlias = Start | Wait | BeginStop | Shorten | Signal | Hook | Probe | Prepare | Fail


class PodPlan(msgspec.Struct):
    actions: tuple[Action, ...] = ()
    why: tuple[Reason, ...] = ()
    """The rules that fired."""
    look_again: float | None = None
    """Seconds until the next sync is due; None if only a change leads to one."""
    done: bool = False
    """Whether no container of the pod runs or will run again."""


NOTHING: Final = PodPlan()
