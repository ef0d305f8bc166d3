"""The night: start, wait and run of CronJobs, their ends, and the window before which all has to be done."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Run
from longshore.sim import checks, over_time
from longshore.sim.pictures import table
from longshore.sim.sim_result import SimResult
from sim.worlds import DAY, HOUR, cron_job, job, played

SOON = 1.0
TWO = [Rule("a-*", (Run(1800.0),)), Rule("b-*", (Run(2700.0),))]


def night(window: str = "06:00", **more: Any) -> SimResult:
    """One processor: `a` runs at 05:00 for 30 minutes, `b` for 45 once `a` makes room."""
    windows = checks.expectations({"*": f"done before {window}"})
    works = cron_job("a", "0 5 * * *"), cron_job("b", "0 5 * * *")
    return played(*works, cpu="1", rules=TWO, windows=windows, **more)


def test_start_wait_and_run_of_a_cron_job_are_told_apart() -> None:
    """b: created at 05:00, waits 30 minutes for room, runs 45, and so ends at 06:15."""
    first, second = night().cron_jobs
    assert (first.latest, first.longest_wait) == (pytest.approx(0, abs=SOON), pytest.approx(0, abs=SOON))
    assert second.longest_wait == pytest.approx(1800, abs=SOON)
    assert second.longest_run == pytest.approx(2700, abs=SOON)
    assert second.longest == pytest.approx(4500, abs=SOON)
    ends = (second.earliest_end, second.latest_end, second.last_end)
    assert ends == (pytest.approx(6.25 * HOUR, abs=SOON),) * 3


def test_the_earliest_and_the_latest_end_are_those_of_all_nights() -> None:
    """The run of the first night takes an hour, that of the second 20 minutes, that of the third 40."""
    lengths = iter((3600.0, 1200.0, 2400.0))
    rules = [Rule("*", (lambda pod: Run(next(lengths)),))]
    (row,) = played(cron_job("a", "0 5 * * *", timeZone="UTC"), seconds=3 * DAY, rules=rules).cron_jobs
    five = 6 * HOUR  # 05:00 in UTC is 06:00 in Berlin, and 6 hours after the start
    assert row.latest_end == pytest.approx(five + 3600, abs=SOON)
    assert row.earliest_end == pytest.approx(five + DAY + 1200, abs=SOON)
    assert row.last_end == pytest.approx(five + 2 * DAY + 2400, abs=SOON)


def test_a_night_says_when_it_ends_and_when_its_window_does() -> None:
    (row,) = night("06:30").windows
    assert (row.at, row.ended) == (pytest.approx(6.5 * HOUR, abs=SOON), pytest.approx(6.25 * HOUR, abs=SOON))
    text = table.of(night("06:30"))
    assert "the night ends on 27 Mar 06:15:00 with job/b-" in text
    assert "the window on 27 Mar at 06:30: 15m to spare" in text
    assert "the window on 27 Mar at 06:00: 15m too late" in table.of(night("06:00"))


def test_a_night_that_does_not_end_says_so() -> None:
    text = table.of(night(seconds=6 * HOUR))
    assert "the window ends on 27 Mar at 06:00, the night does not: job/b-" in text


def test_of_several_nights_the_one_that_ends_latest_is_told() -> None:
    lengths = iter((600.0, 5400.0, 600.0))
    windows = checks.expectations({"cronjob/a": "done before 06:00"})
    rules = [Rule("a-*", (lambda pod: Run(next(lengths)),))]
    works = cron_job("a", "0 5 * * *", timeZone="Europe/Berlin"), job("x", cpu="3")
    (row,) = played(*works, seconds=3 * DAY, rules=rules, windows=windows).windows
    # the second night has 23 hours: clocks go forward at two
    assert row.ended == pytest.approx(DAY + 4 * HOUR + 5400, abs=SOON)
    assert row.at == pytest.approx(DAY + 5 * HOUR, abs=SOON)


def test_use_of_nodes_and_waiting_pods_are_told_over_time() -> None:
    """Four Jobs of an hour on a node for two: it is full for two hours, and two pods wait in the first."""
    found = played(*(job(name) for name in "abcd"), cpu="2", rules=[Rule("*", (Run(HOUR),))])
    assert found.seconds == pytest.approx(2 * HOUR, abs=SOON)
    assert found.nodes[0].over_time == [pytest.approx(1.0, abs=0.01)] * over_time.SLICES
    half = over_time.SLICES // 2
    assert found.waiting[:half] == [pytest.approx(2.0, abs=0.03)] * half
    assert max(found.waiting[half + 1 :]) == 0
    text = table.of(found)
    assert "█" * 48 in text
    assert "pods that wait   ≤ 2" in text


def test_means_are_exact() -> None:
    found = over_time.means([(0.0, 96.0, 1.0), (0.5, 2.25, 4.0), (95.5, 200.0, 2.0)], 0.0, 96.0)
    assert found[:4] == [1 + 2, 1 + 4, 1 + 1, 1]
    assert found[-1] == 2
    assert sum(found) == pytest.approx(96 + 7 + 1)
