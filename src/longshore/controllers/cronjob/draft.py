"""A plan while it is being made: the status as it will be, and the events and reasons so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from longshore.api.types import Obj
from longshore.controllers.cronjob import finished
from longshore.controllers.cronjob.finished import Outcome
from longshore.controllers.cronjob.plan import Event, Plan, Skipped
from longshore.controllers.cronjob.view import Answer, Ask


class Draft:
    """Begins with what the CronJob says; never changes the CronJob."""

    def __init__(self, cronjob: Obj, jobs: Iterable[Obj]) -> None:
        self.cronjob = cronjob
        self.jobs: list[tuple[Obj, Outcome | None]] = [(job, finished.outcome(job)) for job in jobs]
        """The CronJob's Jobs, each with how it ended, if it has."""
        self._before: Obj = cronjob.get("status") or {}
        self.active: list[Obj] = [*(self._before.get("active") or ())]
        self.last_schedule: str | None = self._before.get("lastScheduleTime")
        self.last_success: str | None = self._before.get("lastSuccessfulTime")
        self.events: list[Event] = []
        self.skipped: list[Skipped] = []
        self.why: list[str] = []

    def normal(self, reason: str, message: str) -> None:
        self.events.append(Event("Normal", reason, message))

    def warning(self, reason: str, message: str) -> None:
        self.events.append(Event("Warning", reason, message))

    def is_active(self, uid: str) -> bool:
        return any(ref.get("uid") == uid for ref in self.active)

    def drop(self, uid: str) -> None:
        """Takes a Job off the active list."""
        self.active = [ref for ref in self.active if ref.get("uid") != uid]

    def removed(self, ask: Ask, answer: Answer) -> bool:
        """Takes note of how the delete of a Job went; whether well."""
        if isinstance(answer, Exception):
            self.warning("FailedDelete", f"Deleted job: {answer}")
            return False
        self.drop(ask.uid)
        self.normal("SuccessfulDelete", f"Deleted job {ask.name}")
        return True

    def plan(self, **more: Any) -> Plan:
        """The plan so far; a reason given as `because` is the last one."""
        because = more.pop("because", None)
        if because is not None:
            self.why.append(because)
        status = self._status()
        return Plan(
            self.cronjob,
            status=None if status == self._before else status,
            events=tuple(self.events),
            skipped=tuple(self.skipped),
            why=tuple(self.why),
            **more,
        )

    def _status(self) -> Obj:
        status = {key: value for key, value in self._before.items() if key != "active"}
        if self.active:
            status = {"active": self.active, **status}
        if self.last_schedule is not None:
            status["lastScheduleTime"] = self.last_schedule
        if self.last_success is not None:
            status["lastSuccessfulTime"] = self.last_success
        return status
