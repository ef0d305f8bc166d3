"""What a simulation says of schedules on days on which clocks are changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Run
from longshore.sim import checks
from longshore.sim.settings import SimSettings
from longshore.sim.simulate import simulate
from sim.worlds import HOUR, cron_job


@pytest.mark.parametrize(
    ("zone", "day", "schedule", "said"),
    [
        ("Australia/Adelaide", "2027-10-03", "30 2 * * *", "does not run at 03 Oct 02:30: clocks go forward"),
        ("America/St_Johns", "2027-03-14", "30 2 * * *", "does not run at 14 Mar 02:30: clocks go forward"),
        (
            "Australia/Lord_Howe",
            "2027-10-03",
            "15 2 * * *",
            "does not run at 03 Oct 02:15: clocks go forward",
        ),
        ("Australia/Adelaide", "2027-04-04", "15 2 * * *", "runs twice at 04 Apr 02:15: clocks go back"),
    ],
)
def test_clocks_also_change_at_half_past_an_hour(zone: str, day: str, schedule: str, said: str) -> None:
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
    found = simulate(SimSettings([cron_job("x", schedule)], start, zone, 5 * HOUR))
    assert found.cron_jobs[0].clock_changes == [f"{said} over it ({zone})"]


@pytest.mark.parametrize(
    ("hours", "spec"),
    [(5.0, {"suspend": True}), (5.0, {"concurrencyPolicy": "Forbid"}), (2.6, {})],
)
def test_only_a_time_that_did_run_twice_is_told_to(hours: float, spec: dict[str, Any]) -> None:
    start = datetime(2027, 10, 31, tzinfo=ZoneInfo("Europe/Berlin"))
    objects, rules = [cron_job("x", "30 2 * * *", **spec)], [Rule("*", (Run(3 * HOUR),))]
    found = simulate(SimSettings(objects, start, "Europe/Berlin", hours * HOUR, rules=rules))
    assert found.cron_jobs[0].runs < 2
    assert found.cron_jobs[0].clock_changes == []


@pytest.mark.parametrize(("day", "said"), [("2027-03-27", "29 Mar 06:30"), ("2027-10-30", "01 Nov 06:30")])
def test_times_of_day_are_those_of_the_zone_also_after_a_change(day: str, said: str) -> None:
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo("Europe/Berlin"))
    objects, rules = [cron_job("x", "0 5 * * *")], [Rule("*", (Run(1.5 * HOUR + 30),))]
    found = simulate(SimSettings(objects, start, "Europe/Berlin", 60 * HOUR, rules=rules))
    ended = [f"{found.clock(row.ended):%d %b %H:%M}" for row in found.jobs if row.ended is not None]
    assert ended[-1] == said
    assert len(checks.broken(found, checks.expectations({"cronjob/x": "done before 06:30"}))) == len(ended)
    assert checks.broken(found, checks.expectations({"cronjob/x": "done before 06:31"})) == []


def test_a_run_over_a_change_has_the_hour_less_that_the_clock_skips() -> None:
    start = datetime(2027, 3, 27, 23, tzinfo=ZoneInfo("Europe/Berlin"))
    objects, rules = [cron_job("x", "0 1 * * *")], [Rule("*", (Run(4.5 * HOUR + 30),))]
    found = simulate(SimSettings(objects, start, "Europe/Berlin", 8 * HOUR, rules=rules))
    (said,) = checks.broken(found, checks.expectations({"cronjob/x": "done before 06:30"}))
    assert "it was done at 28 Mar 06:30:" in said
    assert checks.broken(found, checks.expectations({"cronjob/x": "done before 06:31"})) == []
