"""A plan in the making: the status to be written, and the events and reasons so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from longshore.api.types import Obj
from longshore.controllers.scheduled.plan import ScheduledPlan, Skipped
from longshore.controllers.scheduled.view import Answer, Ask, ScheduledView
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Event
from longshore.machinery.reasons import Number, Reason


class ScheduledDraft:
    """Starts from the CronJob's status; never changes the CronJob."""

    removed_code: ClassVar[str]
    not_removed_code: ClassVar[str]
    """The Events of this dialect for deleted Jobs."""

    def __init__(self, cronjob: Obj) -> None:
        self.cronjob = cronjob
        self._before: Obj = cronjob.get("status") or {}
        self.active: list[Obj] = [*(self._before.get("active") or ())]
        self.last_schedule: str | None = self._before.get("lastScheduleTime")
        self.last_success: str | None = self._before.get("lastSuccessfulTime")
        self.events: list[Event] = []
        self.skipped: list[Skipped] = []
        self.strangers: list[str] = []
        self.why: list[Reason] = []

    def event(self, code: str, /, **numbers: Number) -> None:
        """Adds the Event of a reason."""
        self.events.append(catalogue.event(code, numbers))

    def because(self, code: str, **numbers: Number) -> None:
        """Adds a reason."""
        self.why.append(Reason(code, numbers))

    def announce(self, code: str, **numbers: Number) -> None:
        """Adds a reason and its Event."""
        self.because(code, **numbers)
        self.event(code, **numbers)

    def is_active(self, uid: str) -> bool:
        return any(ref.get("uid") == uid for ref in self.active)

    def drop(self, uid: str) -> None:
        """Removes a Job from the active list."""
        self.active = [ref for ref in self.active if ref.get("uid") != uid]

    def removed(self, ask: Ask, answer: Answer) -> bool:
        """Adds the event of a Job's deletion; returns whether the deletion succeeded."""
        if isinstance(answer, Exception):
            self.event(self.not_removed_code, job=ask.name, problem=str(answer))
            return False
        self.drop(ask.uid)
        self.event(self.removed_code, job=ask.name)
        return True

    def prune(self, view: ScheduledView, jobs: Iterable[Obj]) -> ScheduledPlan | None:
        """Returns a plan that deletes these Jobs; None when done, even after failures."""
        asks = [Ask("delete", "Job", job["metadata"]["name"], job["metadata"]["uid"]) for job in jobs]
        if unasked := tuple(ask for ask in asks if ask not in view.answers):
            self.because("HistoryLimit", jobs=len(unasked))
            return self.plan(delete=unasked)
        for ask in asks:
            if self.removed(ask, view.answers[ask]):
                self.because("JobDeleted", job=ask.name)
        return None

    def taken(self, view: ScheduledView, name: str) -> Obj | ScheduledPlan:
        """Returns the existing Job of this name, or the plan that reads it."""
        ask = Ask("get", "Job", name)
        if ask not in view.answers:
            return self.plan("NameTaken", {"job": name}, read=(ask,))
        job = view.answers[ask]
        if isinstance(job, dict):
            return job
        return self.unreadable(name, job)

    def unreadable(self, name: str, problem: Answer) -> ScheduledPlan:
        """Returns the plan for a Job that cannot be read."""
        return self.plan("Unreadable", {"job": name, "problem": str(problem)}, problem=problem)

    def plan(
        self, code: str = "", numbers: Mapping[str, Number] = MappingProxyType({}), **more: Any
    ) -> ScheduledPlan:
        """Returns the plan so far; adds the given reason as its last one."""
        if code:
            self.because(code, **numbers)
        status = self._status()
        return ScheduledPlan(
            self.cronjob,
            status=None if status == self._before else status,
            events=tuple(self.events),
            skipped=tuple(self.skipped),
            strangers=tuple(self.strangers),
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
