"""When simulated work begins: seconds count from the start that was asked for, and times of day are exact."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from longshore.sim.settings import SimSettings
from longshore.sim.sim_result import SimResult
from longshore.sim.simulate import simulate
from sim.worlds import DAY, HOUR, START, ZONE, cron_job, gang, job, played

LATENCY_SECONDS = 0.1
"""The pause of the controllers of CronJobs after a time."""


def volcano_cron_job(name: str, schedule: str) -> dict[str, Any]:
    work = cron_job(name, schedule, jobTemplate={"spec": gang("g", 1, "1")["spec"]})
    return {**work, "apiVersion": "batch.volcano.sh/v1alpha1"}


def queued(found: SimResult) -> list[float]:
    return [row.queued for row in found.jobs]


@pytest.mark.parametrize("make", [cron_job, volcano_cron_job])
def test_a_run_of_five_is_shown_at_five(make: Any) -> None:
    found = played(make("x", "0 5 * * *"))
    assert queued(found) == [pytest.approx(5 * HOUR + LATENCY_SECONDS, abs=0.001)]
    assert f"{found.clock(found.jobs[0].queued):%H:%M:%S}" == "05:00:00"
    assert found.jobs[0].late == pytest.approx(LATENCY_SECONDS)


@pytest.mark.parametrize("make", [cron_job, volcano_cron_job])
def test_a_day_has_the_run_at_its_start_and_not_that_at_its_end(make: Any) -> None:
    found = played(make("x", "0 0 * * *"), until_done=False)
    assert queued(found) == [pytest.approx(LATENCY_SECONDS)]
    assert (found.cron_jobs[0].complete, found.cron_jobs[0].skipped) == (1, [])


def test_a_time_before_the_start_does_not_run() -> None:
    start = START + timedelta(seconds=1)
    found = simulate(SimSettings([cron_job("x", "0 0 * * *")], start, ZONE, DAY / 2))
    assert queued(found) == []
    assert found.cron_jobs[0].skipped == []


def test_a_schedule_without_times_counts_from_the_start() -> None:
    found = played(cron_job("x", "@every 5h"), seconds=11 * HOUR)
    assert queued(found) == [pytest.approx(hours * HOUR + LATENCY_SECONDS) for hours in (5, 10)]


def test_work_of_every_kind_and_namespace_begins_at_the_start() -> None:
    others = [job(f"x-{n}") for n in range(12)]
    for n, each in enumerate(others):
        each["metadata"]["namespace"] = f"team-{n}"
    found = played(job(), gang("train", 2, "1"), *others, cpu="64")
    assert queued(found) == [0.0] * 14
    assert found.seconds == pytest.approx(60, abs=1)
