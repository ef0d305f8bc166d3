"""One CronJob over a long time, without a server: the real `decide`, and a model of the API around it.

Time jumps from one thing that happens to the next: a scheduled look, the end of a Job, somebody who suspends
or resumes, the end of an outage. Now and then the controller dies between two writes. Everything that is
decided is kept, for `check`.
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from controllers.cronjob import cron_scene
from controllers.cronjob.cron_scene import UID, cronjob, job
from longshore.api import cron, errors
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.controllers.cronjob import timing
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Answer, Ask, ScheduledView
from longshore.machinery.time.wallclock import Outage

FINISHED = {"Complete": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}


class Died(Exception):
    """The controller is gone; what it wrote before is there."""


@dataclass
class Life:
    """`outages` begin and end, at `switches` suspend changes, and Jobs run `lasts` seconds on average."""

    state: Obj
    outages: list[tuple[Instant, Instant]]
    switches: list[Instant]
    lasts: float
    rng: random.Random
    crashes: float = 0.0
    """How likely a started Job is the last thing the controller does before it dies."""
    jobs: dict[str, Obj] = field(default_factory=dict)
    created: dict[str, Instant] = field(default_factory=dict)
    """Every Job there ever was, with its scheduled time."""
    plans: list[tuple[Instant, ScheduledPlan]] = field(default_factory=list)
    _events: list[tuple[Instant, int, str, str]] = field(default_factory=list)
    _number: int = 0
    _wake: Instant | None = None
    _outage: Outage | None = None
    _down: bool = False

    def run(self, start: Instant, end: Instant) -> None:
        for since, until in self.outages:
            self._at(since, "down")
            self._at(until, "up")
        for at in self.switches:
            self._at(at, "switch")
        self._at(start, "look")
        while self._events and self._events[0][0] <= end:
            now, _, what, name = heapq.heappop(self._events)
            match what:
                case "down" | "up":
                    self._down = what == "down"
                    self._outage = Outage(None, now)
                case "switch":
                    spec = self.state["spec"]
                    self.state = {**self.state, "spec": {**spec, "suspend": not spec["suspend"]}}
                case "end" if name in self.jobs:
                    self._end(name, now)
                case "look" if now == self._wake:
                    self._wake = None
            if not self._down:
                self._look(now)

    def _at(self, at: Instant, what: str, name: str = "") -> None:
        self._number += 1
        heapq.heappush(self._events, (at, self._number, what, name))

    def _look(self, now: Instant) -> None:
        """Looks until there is nothing new: each change of the status wakes the controller again."""
        while True:
            try:
                plan = self._sync(now)
            except Died:
                self._at(now + 90 * SECOND, "up")
                self._down = True
                return
            self._outage = None
            self.plans.append((now, plan))
            assert plan.problem is None
            if plan.status is None:
                break
            self.state = {**self.state, "status": plan.status}
            self._invariants()
        if plan.look_again is not None:
            due = now + int(plan.look_again * SECOND)
            if self._wake is None or due < self._wake:
                self._wake = due
                self._at(due, "look")

    def _sync(self, now: Instant) -> ScheduledPlan:
        view = ScheduledView(self.state, now, jobs=[*self.jobs.values()], outage=self._outage)
        return cron_scene.settled(view, self._answer, partial(self._create, now=now))

    def _answer(self, ask: Ask) -> Answer:
        if ask.verb == "delete":
            del self.jobs[ask.name]
            return None
        found = self.state if ask.kind == "CronJob" else self.jobs.get(ask.name)
        return found or errors.not_found("batch", "jobs", ask.name)

    def _create(self, plan: ScheduledPlan, name: str, now: Instant) -> Answer:
        assert plan.due is not None
        if name in self.jobs:
            return errors.already_exists("batch", "jobs", name)
        assert name not in self.created, f"{name} is started twice"
        if self.state["spec"]["concurrencyPolicy"] == "Forbid":
            assert not self._running(), f"{name} overlaps"
        made = self.jobs[name] = job(name, at=rfc3339.from_instant(now), start=rfc3339.from_instant(now))
        self.created[name] = plan.due
        self._at(now + int(self.rng.expovariate(1 / self.lasts) * SECOND), "end", name)
        if self.rng.random() < self.crashes:
            raise Died
        return made

    def _end(self, name: str, now: Instant) -> None:
        how = "Failed" if self.rng.random() < 0.2 else "Complete"
        old = self.jobs[name]
        status = {**old["status"], "conditions": [{"type": how, "status": "True"}]}
        if how == "Complete":
            status["completionTime"] = rfc3339.from_instant(now)
        self.jobs[name] = {**old, "status": status}

    def _running(self) -> list[str]:
        return [name for name, one in self.jobs.items() if "conditions" not in one["status"]]

    def _invariants(self) -> None:
        if self.state["spec"]["concurrencyPolicy"] == "Replace":
            assert len(self._running()) <= 1
        # One more may be there for a moment: the run that was started and not yet written down.
        self.check_limits(more=1)

    def check_limits(self, more: int = 0) -> None:
        """No more ended Jobs are kept than the limits allow, and so many `more`."""
        for how, limit in FINISHED.items():
            kept = [
                name
                for name, one in self.jobs.items()
                if one["status"].get("conditions", [{"type": ""}])[0]["type"] == how
            ]
            assert len(kept) <= self.state["spec"][limit] + more, kept


def unexplained(life: Life, start: Instant, end: Instant) -> list[str]:
    """Scheduled times that were neither run nor have a reason on record."""
    spec = life.state["spec"]
    schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
    delay = timing.jitter(life.state)
    run = set(life.created.values())
    looks = [now for now, _ in life.plans]
    skipped = [(s.after, s.until) for _, plan in life.plans for s in plan.skipped]
    held = {plan.due for _, plan in life.plans if plan.due is not None}
    missing = []
    at = schedule.next(start, cron.UTC)
    while at is not None and at + delay <= end - 3600 * SECOND:
        if at not in run and at not in held and not any(a < at <= b for a, b in skipped):
            before = bisect_right(looks, at + delay) - 1
            if before < 0 or "Suspended" not in [reason.code for reason in life.plans[before][1].why]:
                missing.append(rfc3339.from_instant(at))
        at = schedule.next(at, cron.UTC)
    return missing


def spans(
    rng: random.Random, start: Instant, end: Instant, every: float, lasts: float
) -> Iterable[tuple[Instant, Instant]]:
    """Stretches of `lasts` seconds, about `every` seconds apart, both at random."""
    at = start
    while True:
        at += int(rng.expovariate(1 / every) * SECOND)
        until = at + int(rng.uniform(0.02, 2) * lasts * SECOND)
        if until >= end:
            return
        yield at, until
        at = until


__all__ = ["UID", "Life", "cronjob", "spans", "unexplained"]
