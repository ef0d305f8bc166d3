"""200 CronJobs over a year in eight zones, with outages, suspends, crashes and clock changes.

The whole year runs through the real `decide` against a model of the API, since a year of writes to the real
one takes minutes. Four days around a clock change run through the real control plane as well.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime

import pytest

from controllers.cronjob.cron_model import Life, cronjob, spans, unexplained
from controllers.cronjob.cron_world import JOBS, a_world
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.informers.informer import Handler
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside

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
