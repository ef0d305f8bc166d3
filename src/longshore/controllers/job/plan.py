"""The plan that `decide` gives to `act`, and the results between the writes.

A write may fail, so a sync has stages: a `JobPlan` for the pods; from its `PodResults` a `Tracking` with the
status to write and the finalizers to remove; from the removed ones an `Ending`. Pure functions make each from
the ones before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import msgspec

from longshore.api.types import Obj
from longshore.controllers.job.ends.conditions import Outcome
from longshore.controllers.job.pods.counting import PodCount
from longshore.controllers.job.pods.indexes import Indexes
from longshore.controllers.job.spec import Spec
from longshore.controllers.job.view import BackoffRecord, JobView
from longshore.machinery.catalogue import Event
from longshore.machinery.reasons import Reason


class JobPlan(msgspec.Struct):
    """The first stage: changes to pods. At most one of `delete`, `release`, `create` is not empty."""

    view: JobView
    spec: Spec
    count: PodCount
    indexes: Indexes | None
    """None if the Job is NonIndexed."""
    succeeded: int
    start_time: str | None
    backoff: BackoffRecord
    """Remembered once the status is written."""
    outcome: Outcome | None = None
    managed: bool = False
    """Whether the number of pods was decided; if not, the Suspended condition is not updated."""
    delete: Sequence[Obj] = ()
    """Pods to delete with their finalizer on, since they are counted later."""
    release: Sequence[Obj] = ()
    """Pods to strip of the finalizer and delete: they are not counted."""
    create: Sequence[Obj] = ()
    """Bodies of pods."""
    action: str = "reconciling"
    look_again: float | None = None
    """Seconds until the next sync; None if only a change causes one."""
    why: tuple[Reason, ...] = ()
    next_start: float | None = None
    """When a Job with a start interval may start its next pod; remembered."""


class PodResults(msgspec.Struct):
    """Results of the first stage."""

    removed: int = 0
    removed_ready: int = 0
    created: int = 0
    """Pods created, or refused by a terminating namespace, which needs no second attempt."""
    attempted: int = 0
    """Creates attempted; fewer than planned after an error."""


class Tracking(msgspec.Struct):
    """The second stage: write 1 (`status`, if `flush`), then write 2 (`strip`)."""

    plan: JobPlan
    status: Obj
    flush: bool
    strip: Sequence[Obj]
    """Pods whose finalizer is removed."""
    holding: Set[str]
    """UIDs of pods, listed or about to be, that had the finalizer before write 2."""
    outcome: Outcome | None
    """The terminal condition to set once all pods are counted and have ended."""
    terminating: int
    limit_hit: bool
    events: Sequence[Event] = ()
    """Events of a suspended or resumed Job; sent before write 1."""
    policy_actions: Mapping[str, int] = msgspec.field(default_factory=dict)
    """How many failures each action of the podFailurePolicy handled."""
    look_again: float | None = None
    """0 if the Job needs another sync at once; None if only a change causes one."""
    why: tuple[Reason, ...] = ()


class Ending(msgspec.Struct):
    """The third stage: write 3 (`status`, if `flush`)."""

    status: Obj
    flush: bool
    finished: Outcome | None = None
    events: Sequence[Event] = ()
    """Events to send after write 3."""
    why: tuple[Reason, ...] = ()
