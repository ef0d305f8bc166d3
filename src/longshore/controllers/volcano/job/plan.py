"""The plan that `decide` gives to `act`, and the answers to it.

A `VolcanoJobPlan` is an intermediate step: `act` sends its events, carries out its steps concurrently, and
decides again with the answers. An `End` is the last plan of a sync: requests left, what to remember, when to
sync again. Steps name objects in the Job's own namespace.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from longshore.api.facts.kinds import Kind
from longshore.api.types import Obj
from longshore.controllers.volcano.job.view import NOTHING, Remembered
from longshore.controllers.volcano.job.waking.job_requests import JobRequest
from longshore.machinery.catalogue import Event
from longshore.machinery.reasons import Reason


class Get(NamedTuple):
    kind: Kind
    name: str


class Create(NamedTuple):
    kind: Kind
    body: Obj


class Update(NamedTuple):
    """Replaces exactly the version that `body` was made from."""

    kind: Kind
    body: Obj


class Patch(NamedTuple):
    kind: Kind
    name: str
    body: Any
    """A list of JSON patch operations, or a merge patch."""


class WriteStatus(NamedTuple):
    """Writes the Job's status over exactly the version that it was derived from."""

    job: Obj
    """The Job with its new status."""
    became: str = ""
    """The new phase; empty if it does not change."""


class Delete(NamedTuple):
    kind: Kind
    name: str
    uid: str = ""
    """The UID of the object; if empty, any object of that name is deleted."""


class NewKey(NamedTuple):
    """Requests a new RSA key. The answer holds the fields of a `KeyPair`."""

    bits: int


Step: TypeAlias = Get | Create | Update | Patch | WriteStatus | Delete | NewKey

Answer: TypeAlias = Obj | Exception
"""The answer to a step: the object (empty if there is none), or the error."""


class Answers(NamedTuple):
    """The answers to a plan's steps, in their order."""

    results: Sequence[Answer]
    asked: bool = False
    """Whether another request to the Job arrived meanwhile."""


class VolcanoJobPlan(NamedTuple):
    """One step of a sync, or several that do not depend on each other."""

    steps: tuple[Step, ...]
    events: tuple[Event, ...] = ()
    """Events to send before the steps are carried out."""
    why: tuple[Reason, ...] = ()
    """The reasons of the whole sync so far."""
    look_again: float | None = None
    """Always None: the `End` of the sync sets it."""


class End(NamedTuple):
    """The last plan of a sync."""

    events: tuple[Event, ...] = ()
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Seconds until the next sync; None if only a change causes one."""
    left: tuple[JobRequest, ...] = ()
    """Requests left for the next sync, which handles them before newer ones."""
    remember: Remembered = NOTHING
    counters_later: bool = False
    """Whether the counters are written later: with the next write, or after one second."""
    problem: Exception | None = None
    """Why the sync ended early. It is retried after `look_again`, or after the queue's back-off."""


T = TypeVar("T")

Course: TypeAlias = Generator[VolcanoJobPlan, Answers, T]
"""A generator that decides: it yields plans, receives answers, and returns a result. It does no I/O."""


class Refused(Exception):
    """Something a Job needs could not be done. Trying again may help, for a while."""


class ClaimMissing(Exception):
    """A volume names a claim that does not exist."""
