"""The next steps of a pod, as data. Nobody changes a plan; what those of every pod are made of is not
`frozen`, which would cost ten times as much.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from longshore.machinery.reasons import Reason
from longshore.node.pod.memory import Record, Verdict, Waiting


class Start(msgspec.Struct, frozen=True):
    """Prepare the container and have the engine start it; `again` after an earlier run."""

    record: Record
    again: bool = False
    backoff: float = 0.0
    """The pause after the next crash, if it comes soon."""


class Wait(msgspec.Struct, frozen=True):
    """Nothing to do for this container until later; this is what its status says meanwhile."""

    record: Record
    waiting: Waiting


class BeginStop(msgspec.Struct, frozen=True):
    """The container has to go: from now on its grace period runs."""

    record: Record
    grace: float
    message: str


class Shorten(msgspec.Struct, frozen=True):
    """Somebody is less patient than before."""

    record: Record
    grace: float


class Signal(msgspec.Struct, frozen=True):
    record: Record
    name: Literal["stop", "kill"]


class Hook(msgspec.Struct, frozen=True):
    record: Record
    name: Literal["postStart", "preStop"]


class Probe(msgspec.Struct, frozen=True):
    """Begin to probe the container."""

    record: Record


class Prepare(msgspec.Struct):
    """Make the pod's volumes and read what its environment refers to."""


class Fail(msgspec.Struct, frozen=True):
    """The pod is to fail; its containers are stopped first."""

    verdict: Verdict


Action: TypeAlias = Start | Wait | BeginStop | Shorten | Signal | Hook | Probe | Prepare | Fail


class Plan(msgspec.Struct):
    actions: tuple[Action, ...] = ()
    why: tuple[Reason, ...] = ()
    """The rules that fired."""
    look_again: float | None = None
    """In so many seconds something is due by itself; None when only a change can bring something."""
    done: bool = False
    """Nothing of the pod runs, and nothing will again."""


NOTHING: Final = Plan()
