"""A plan while it is being made: the status as it will be, and the events and reasons so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from longshore.api.types import Obj
from longshore.controllers.scheduled.plan import Event, Plan, Skipped
from longshore.controllers.scheduled.view import Answer, Ask, View
from longshore.machinery.reasons import Number, Reason


class Draft:
    """Begins with what the CronJob says; never changes the CronJob. A dialect has words of its own for what
    became of a Job that was to be deleted."""

    deleted_words: ClassVar[str]
    delete_failed_words: ClassVar[str]

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

    def normal(self, reason: str, message: str) -> None:
        self.events.append(Event("Normal", reason, message))

    def warning(self, reason: str, message: str) -> None:
        self.events.append(Event("Warning", reason, message))

    def because(self, code: str, words: str, **numbers: Number) -> None:
        """One more reason."""
        self.why.append(Reason(code, words, numbers))

    def is_active(self, uid: str) -> bool:
        return any(ref.get("uid") == uid for ref in self.active)

    def drop(self, uid: str) -> None:
        """Takes a Job off the active list."""
        self.active = [ref for ref in self.active if ref.get("uid") != uid]

    def removed(self, ask: Ask, answer: Answer) -> bool:
        """Takes note of how the delete of a Job went; whether well."""
        if isinstance(answer, Exception):
            self.warning("FailedDelete", self.delete_failed_words.format(name=ask.name, problem=answer))
            return False
        self.drop(ask.uid)
        self.normal("SuccessfulDelete", self.deleted_words.format(name=ask.name))
        return True

    def prune(self, view: View, jobs: Iterable[Obj]) -> Plan | None:
        """The plan that deletes these Jobs beyond the history limits; None once that is done, well or not."""
        asks = [Ask("delete", "Job", job["metadata"]["name"], job["metadata"]["uid"]) for job in jobs]
        if unasked := tuple(ask for ask in asks if ask not in view.answers):
            words = f"deletes {len(unasked)} Jobs beyond the history limits"
            self.because("HistoryLimit", words, jobs=len(unasked))
            return self.plan(delete=unasked)
        for ask in asks:
            if self.removed(ask, view.answers[ask]):
                self.because("JobDeleted", f"deleted job {ask.name}: it is beyond the history limits")
        return None

    def taken(self, view: View, name: str) -> Obj | Plan:
        """The Job that has this name already, or the plan that asks for it."""
        ask = Ask("get", "Job", name)
        if ask not in view.answers:
            return self.plan("NameTaken", f"there is a job {name} already: whose is it?", read=(ask,))
        job = view.answers[ask]
        if isinstance(job, dict):
            return job
        return self.plan("Unreadable", f"job {name} cannot be read: {job}", problem=job)

    def plan(self, code: str = "", words: str = "", **more: Any) -> Plan:
        """The plan so far; a reason given is the last one."""
        if code:
            self.because(code, words)
        status = self._status()
        return Plan(
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
