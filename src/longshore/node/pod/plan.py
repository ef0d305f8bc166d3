"""The next steps of a pod, as data. Nobody changes a plan; what those of every pod are made of is not
`frozen`, which would cost ten times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from longshore.machinery.reasons import Reason
from longshore.node.pod.memory import Record, Verdict, Waiting


@dataclass(frozen=True, slots=True)
class Start:
    """Prepare the container and have the engine start it; `again` after an earlier run."""

    record: Record
    again: bool = False
    backoff: float = 0.0
    """The pause after the next crash, if it comes soon."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do for this container until later; this is what its status says meanwhile."""

    record: Record
    waiting: Waiting


@dataclass(frozen=True, slots=True)
class BeginStop:
    """The container has to go: from now on its grace period runs."""

    record: Record
    grace: float
    message: str


@dataclass(frozen=True, slots=True)
class Shorten:
    """Somebody is less patient than before."""

    record: Record
    grace: float


@dataclass(frozen=True, slots=True)
class Signal:
    record: Record
    name: Literal["stop", "kill"]


@dataclass(frozen=True, slots=True)
class Hook:
    record: Record
    name: Literal["postStart", "preStop"]


@dataclass(frozen=True, slots=True)
class Probe:
    """Begin to probe the container."""

    record: Record


@dataclass(slots=True)
class Prepare:
    """Make the pod's volumes and read what its environment refers to."""


@dataclass(frozen=True, slots=True)
class Fail:
    """The pod is to fail; its containers are stopped first."""

    verdict: Verdict


Action: TypeAlias = Start | Wait | BeginStop | Shorten | Signal | Hook | Probe | Prepare | Fail


@dataclass(slots=True)
class Plan:
    actions: tuple[Action, ...] = ()
    why: tuple[Reason, ...] = ()
    """The rules that fired."""
    look_again: float | None = None
    """In so many seconds something is due by itself; None when only a change can bring something."""
    done: bool = False
    """Nothing of the pod runs, and nothing will again."""


NOTHING: Final = Plan()
