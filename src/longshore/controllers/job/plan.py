"""The plan that `decide` hands to `act`, and the results that come back between the writes.

Writes can fail half way, so a sync goes on in stages: a `Plan` for the pods; from its `PodResults` a
`Tracking` of what to write down and which finalizers to strip; from what was stripped an `Ending`. Each is
the value of a pure function of the ones before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from longshore.api.types import Obj
from longshore.controllers.job.ends.conditions import Outcome
from longshore.controllers.job.pods.counting import Count
from longshore.controllers.job.pods.indexes import Indexes
from longshore.controllers.job.spec import Spec
from longshore.controllers.job.view import BackoffRecord, View
from longshore.machinery.reasons import Reason


class Event(NamedTuple):
    """An event on the Job."""

    type: str
    reason: str
    message: str


class Plan(msgspec.Struct):
    """The first stage: what to do with pods. At most one of `delete`, `release`, `create` is not empty."""

    view: View
    spec: Spec
    count: Count
    indexes: Indexes | None
    """None unless the Job is Indexed."""
    succeeded: int
    start_time: str | None
    backoff: BackoffRecord
    """To be remembered once the status is written."""
    outcome: Outcome | None = None
    managed: bool = False
    """Whether the number of pods was looked at; without that the Suspended condition stays as it is."""
    delete: Sequence[Obj] = ()
    """Pods to delete while they keep the finalizer, since they are yet to be counted."""
    release: Sequence[Obj] = ()
    """Pods to strip of the finalizer and delete: they count as nothing."""
    create: Sequence[Obj] = ()
    """Bodies of pods."""
    action: str = "reconciling"
    look_again: float | None = None
    """Seconds; None when nothing is due until the next change."""
    why: tuple[Reason, ...] = ()
    next_start: float | None = None
    """To be remembered, of a Job with a start interval."""


class PodResults(msgspec.Struct):
    """How the first stage went."""

    removed: int = 0
    removed_ready: int = 0
    created: int = 0
    """Created, or refused by a namespace that is going away, which needs no second attempt."""
    attempted: int = 0
    """To create; less than planned after an error."""


class Tracking(msgspec.Struct):
    """The second stage: write 1 (`status`, if `flush`), then write 2 (`strip`)."""

    plan: Plan
    status: Obj
    flush: bool
    strip: Sequence[Obj]
    """Pods to take the finalizer from."""
    holding: Set[str]
    """UIDs of the listed pods, and of those to be listed, that had the finalizer before that."""
    outcome: Outcome | None
    """The terminal condition to set when everything is counted and has ended."""
    terminating: int
    limit_hit: bool
    events: Sequence[Event] = ()
    """Of a Job suspended or resumed; sent before write 1."""
    policy_actions: Mapping[str, int] = msgspec.field(default_factory=dict)
    """How many failures each action of the podFailurePolicy handled."""
    look_again: float | None = None
    """0 when the Job goes on whatever happens; None when nothing is due until the next change."""
    why: tuple[Reason, ...] = ()


class Ending(msgspec.Struct):
    """The third stage: write 3 (`status`, if `flush`)."""

    status: Obj
    flush: bool
    finished: Outcome | None = None
    events: Sequence[Event] = ()
    """Sent after write 3."""
    why: tuple[Reason, ...] = ()
