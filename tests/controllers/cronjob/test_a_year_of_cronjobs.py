"""200 CronJobs over a year in eight zones, with outages, suspends, crashes and clock changes.

The whole year runs through the real `decide` against a model of the API, since a year of writes to the real
one takes minutes. Four days around a clock change run through the real control plane as well.
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import pytest

from controllers.cronjob import cron_scene
from controllers.cronjob.cron_scene import UID, cronjob, job
from controllers.cronjob.cron_world import JOBS, a_world
from longshore.api import cron, errors
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.controllers.cronjob import timing
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Answer, Ask, ScheduledView
from longshore.machinery.informers.informer import Handler
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.time.wallclock import Outage
from longshore.testing.stories import beside

FINISHED = {"Complete": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}


class Died(Exception):
    """The controller is gone; what it wrote before is there."""


@dataclass
class Life:
    """One CronJob over a long time, without a server: the real `decide`, and a model of the API around it.

    Time jumps from one thing that happens to the next: a scheduled look, the end of a Job, a suspend or
    resume, the end of an outage. Now and then the controller dies between two writes. All decisions are kept.

    `outages` begin and end, at `switches` suspend changes, and Jobs run `lasts` seconds on average."""

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


# ---- tests

pytestmark = pytest.mark.long

ZONES = (
    "Etc/UTC",
    "America/New_York",
    "America/Sao_Paulo",
    "Europe/London",
    "Europe/Berlin",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Auckland",
)
SCHEDULES = (
    "30 2 * * 0,2,6",  # clocks change on Sundays
    "0 9 * * 1,4",
    "15 1 */4 * *",
    "0 */12 * * 6",
    "45 23 * * 0",
    "0 0 1 * *",
    "0 3 * * 6",
    "@weekly",
    "30 1 * * 0",
    "0 12 1,15 * *",
)
START = rfc3339.parse("2026-01-01T00:00:00Z")
END = rfc3339.parse("2027-01-01T00:00:00Z")
DAY = 86_400.0


def life(number: int, outages: list[tuple[int, int]]) -> Life:
    rng = random.Random(number)
    spec = {
        "timeZone": ZONES[number % len(ZONES)],
        "concurrencyPolicy": ("Allow", "Forbid", "Replace")[number % 3],
        "successfulJobsHistoryLimit": rng.choice((0, 1, 3)),
        "failedJobsHistoryLimit": rng.choice((0, 1, 2)),
    }
    if number % 4 == 0:
        spec["startingDeadlineSeconds"] = rng.choice((30, 600, 7200, 90_000))
    annotations = {"longshore.dev/jitter": "10m"} if number % 5 == 0 else None
    schedule = SCHEDULES[number % len(SCHEDULES)]
    if number == 7:
        schedule = "30 * * * *"
    state = cronjob(schedule, created="2026-01-01T00:00:00Z", annotations=annotations, **spec)
    switches = [at for span in spans(rng, START, END, 60 * DAY, 10 * DAY) for at in span]
    if number % 2:
        switches = []
    lasts = rng.choice((20.0, 3600.0, 1.5 * DAY))
    return Life(state, outages, switches, lasts, rng, crashes=0.02)


def test_a_year() -> None:
    outages = [*spans(random.Random(0), START, END, 9 * DAY, DAY)]
    assert len(outages) > 20
    runs, skipped = 0, 0
    for number in range(200):
        one = life(number, outages)
        one.run(START, END)
        one.check_limits()
        assert unexplained(one, START, END) == [], one.state["spec"]
        runs += len(one.created)
        skipped += sum(s.number for _, plan in one.plans for s in plan.skipped)
    assert runs > 10_000
    assert skipped > 500


HOUR = 3600.0


class Ledger(Handler):
    """Every Job there ever was, and what overlapped with what."""

    def __init__(self) -> None:
        self.started: Counter[str] = Counter()
        self.running: dict[str, set[str]] = {}
        self.overlaps: list[str] = []

    def on_add(self, obj: Obj, initial: bool) -> None:
        name, running = self._of(obj)
        self.started[name] += 1
        if running:
            self.overlaps.append(name)
        running.add(name)

    def on_update(self, old: Obj, new: Obj) -> None:
        if new["status"].get("conditions"):
            name, running = self._of(new)
            running.discard(name)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        name, running = self._of(obj)
        running.discard(name)

    def _of(self, obj: Obj) -> tuple[str, set[str]]:
        meta = obj["metadata"]
        return meta["name"], self.running.setdefault(meta["ownerReferences"][0]["name"], set())


async def _four_days(clock: VirtualClock) -> None:
    rng = random.Random(5)
    ledger = Ledger()
    async with a_world(clock) as world:
        for n in range(24):
            policy = ("Allow", "Forbid", "Replace")[n % 3]
            await world.cronjob(
                ("30 1 * * *", "0 */6 * * *", "15 2 * * *", "@every 9h")[n % 4],
                f"{policy.lower()}-{n}",
                timeZone=ZONES[n % len(ZONES)],
                concurrencyPolicy=policy,
                successfulJobsHistoryLimit=n % 4,
                failedJobsHistoryLimit=n % 2,
            )
        lasts = {"allow": 300.0, "forbid": 8 * HOUR, "replace": 20 * HOUR}

        def seconds(job: Obj) -> float:
            return rng.uniform(0.2, 1) * lasts[job["metadata"]["name"].partition("-")[0]]

        async with beside(world.hearing(ledger)), beside(world.ending(seconds)):
            for days, away in ((1.2, 5), (0.6, 19), (0.1, 0.1), (1.0, 0)):
                async with world.running(glance=600.0):
                    await world.clock.sleep(days * DAY / 2)
                    await world.change({"spec": {"suspend": True}}, "forbid-1")
                    await world.clock.sleep(days * DAY / 2)
                    await world.change({"spec": {"suspend": False}}, "forbid-1")
                    await world.clock.sleep(60)
                await world.clock.sleep(away * HOUR)
        kept = (await world.client.list(JOBS, "ns")).items
        assert sum(ledger.started.values()) > 150
        assert set(ledger.started.values()) == {1}, "no scheduled time is run twice"
        assert not [name for name in ledger.overlaps if name.startswith("forbid")]
        for n in range(24):
            name = f"{('allow', 'forbid', 'replace')[n % 3]}-{n}"
            mine = [job for job in kept if job["metadata"]["ownerReferences"][0]["name"] == name]
            finished = [job for job in mine if job["status"].get("conditions")]
            assert len(finished) <= n % 4
            if name.startswith("replace"):
                assert len(mine) - len(finished) <= 1
        assert len(await world.events("CatchUp")) > 5
        assert not await world.events("FailedDelete")
        assert not await world.events("UnexpectedJob")


def test_four_days_around_a_clock_change_through_the_real_control_plane() -> None:
    virtual.run(_four_days, start=datetime(2026, 10, 23, 12, tzinfo=UTC))
