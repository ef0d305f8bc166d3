"""The plan that `decide` hands to `act`, and the answers that come back.

A `Plan` with steps is one on the way: tell its events, carry its steps out side by side, and decide again
with the answers. An `End` is the last plan of a visit: what is left to do, what to remember, and when to look
again. Steps name objects in the Job's own namespace.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from longshore.api.facts.kinds import Kind
from longshore.api.types import Obj
from longshore.controllers.volcano.job.view import NOTHING, Remembered
from longshore.controllers.volcano.job.waking.job_requests import Request
from longshore.machinery.reasons import Reason


class Event(NamedTuple):
    """An event on the Job."""

    type: str
    reason: str
    message: str


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
    """JSON operations if it is a list, else a merge patch."""


class WriteStatus(NamedTuple):
    """Writes the Job's status over exactly the version that it was derived from."""

    job: Obj
    """With the new status."""
    became: str = ""
    """The phase, if it is another one than before."""


class Delete(NamedTuple):
    kind: Kind
    name: str
    uid: str = ""
    """Of which object; empty takes whichever has the name."""


class NewKey(NamedTuple):
    """Has an RSA key made. Answered with the parts of a `KeyPair`, by name."""

    bits: int


Step: TypeAlias = Get | Create | Update | Patch | WriteStatus | Delete | NewKey

Answer: TypeAlias = Obj | Exception
"""The answer to a step: the object (empty if there is none to show), or the refusal."""


class Answers(NamedTuple):
    """The answers to a plan's steps, in their order, and other changes meanwhile."""

    results: Sequence[Answer]
    asked: bool = False
    """Whether the Job was asked for something."""


class Plan(NamedTuple):
    """One step of a visit, or several that need not wait for each other."""

    steps: tuple[Step, ...]
    events: tuple[Event, ...] = ()
    """Told before the steps are carried out."""
    why: tuple[Reason, ...] = ()
    """Of the whole visit so far."""
    look_again: float | None = None
    """Never set: the end of the visit says it."""


class End(NamedTuple):
    """The last plan of a visit."""

    events: tuple[Event, ...] = ()
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Seconds; None when nothing is due until the next change."""
    left: tuple[Request, ...] = ()
    """Requests that wait for the next visit, before those that came meanwhile."""
    remember: Remembered = NOTHING
    counters_later: bool = False
    """Whether counters are to be written later, with what comes next or a second from now."""
    problem: Exception | None = None
    """Why the visit broke off. With `look_again` it is tried again then, else after the queue's back-off."""


T = TypeVar("T")

Course: TypeAlias = Generator[Plan, Answers, T]
"""A decision of several plans: it yields each, is sent the answers, and returns what comes of it. It touches
nothing itself."""


class Refused(Exception):
    """Something a Job needs could not be done. Trying again may help, for a while."""


class ClaimMissing(Exception):
    """A volume names a claim that does not exist."""
