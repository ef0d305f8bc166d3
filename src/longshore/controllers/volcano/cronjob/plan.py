"""What `decide` may know, and what it hands to the controller.

A plan with something to `read`, `delete` or `create` is a step on the way: that is carried out, and `decide`
is asked again with the answers. One without is the end: events, status, and when to look again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from longshore.api import cron
from longshore.api.time.instants import Instant
from longshore.api.types import Obj


class Ask(NamedTuple):
    """One request about the CronJob itself or a Job in its namespace."""

    verb: Literal["get", "delete", "create"]
    kind: Literal["CronJob", "Job"]
    name: str
    uid: str = ""
    """For a delete: of which Job; another one of that name is left alone."""


Answer: TypeAlias = Obj | Exception | None
"""What came back: the object, nothing (after a delete), or `StatusError` or `Unreachable`."""

Event: TypeAlias = tuple[str, str, str]
"""Type, reason, message."""


@dataclass(frozen=True, slots=True)
class View:
    """A CronJob and the Jobs it controls, as the caches show them. Objects are frozen."""

    cronjob: Obj
    now: Instant
    jobs: Sequence[Obj] = ()
    zone: cron.Zone = cron.UTC
    """The zone of schedules without one."""
    answers: Mapping[Ask, Answer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """One step for one CronJob."""

    cronjob: Obj
    """The state decided on: the cached one, or a newer one that had to be read."""
    why: str
    read: tuple[Ask, ...] = ()
    delete: tuple[Ask, ...] = ()
    create: Obj | None = None
    status: Obj | None = None
    """The new status; None when it is right already."""
    events: tuple[Event, ...] = ()
    look_again: float | None = None
    """Seconds; None when nothing is due until the next change."""
    problem: Exception | None = None
    """Why to try again soon, after the status is written."""

    @property
    def final(self) -> bool:
        return not (self.read or self.delete or self.create)


class Draft:
    """A plan while it is being made. Begins with what the CronJob says; never changes the CronJob."""

    def __init__(self, cronjob: Obj) -> None:
        self.cronjob = cronjob
        self._before: Obj = cronjob.get("status") or {}
        self.active: list[Obj] = [*(self._before.get("active") or ())]
        self.last_schedule: str | None = self._before.get("lastScheduleTime")
        self.last_success: str | None = self._before.get("lastSuccessfulTime")
        self.events: list[Event] = []

    def normal(self, reason: str, message: str) -> None:
        self.events.append(("Normal", reason, message))

    def warning(self, reason: str, message: str) -> None:
        self.events.append(("Warning", reason, message))

    def is_active(self, uid: str) -> bool:
        return any(ref.get("uid") == uid for ref in self.active)

    def drop(self, uid: str) -> None:
        """Takes a Job off the active list."""
        self.active = [ref for ref in self.active if ref.get("uid") != uid]

    def removed(self, ask: Ask, answer: Answer) -> bool:
        """Takes note of how the delete of a Job went; whether well."""
        if isinstance(answer, Exception):
            self.warning("FailedDelete", f'Error deleting job "{ask.name}": {answer}')
            return False
        self.drop(ask.uid)
        self.normal("SuccessfulDelete", f'Deleted job "{ask.name}"')
        return True

    def plan(self, why: str, **more: Any) -> Plan:
        status = self._status()
        return Plan(
            self.cronjob,
            why,
            status=None if status == self._before else status,
            events=tuple(self.events),
            **more,
        )

    def _status(self) -> Obj:
        status: Obj = {"active": self.active} if self.active else {}
        if self.last_schedule is not None:
            status["lastScheduleTime"] = self.last_schedule
        if self.last_success is not None:
            status["lastSuccessfulTime"] = self.last_success
        return status
