"""Days of CronJobs that repeat the day before are left out; the answer is that of a simulation in full."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Chance, Exit, Run
from longshore.sim import repeated_days
from longshore.sim.chronicle import Chronicle, PodLine, WorkLine
from longshore.sim.settings import SimSettings, nodes
from longshore.sim.simulate import in_full, simulate
from longshore.testing.troubles import Troubles
from sim.worlds import DAY, HOUR, cron_job, gang, job

START = datetime(2027, 1, 1, tzinfo=UTC)
MANY: Obj = {"completions": 3, "parallelism": 2, "completionMode": "Indexed", "backoffLimit": 1}
QUOTA: Obj = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "three"},
    "spec": {"hard": {"pods": "3"}},
}
HOURLY, NIGHTLY = cron_job("hourly", "20 * * * *"), cron_job("nightly", "30 2 * * *")


def many(name: str, schedule: str, **spec: Any) -> Obj:
    """A CronJob whose Jobs have three indexes."""
    found = cron_job(name, schedule, **spec)
    found["spec"]["jobTemplate"]["spec"] |= MANY
    return found


def question(*objects: Obj, days: float = 9, **more: Any) -> SimSettings:
    return SimSettings(objects, more.pop("start", START), more.pop("zone", "UTC"), days * DAY, **more)


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were left out, each time."""
    found: list[float] = []
    leave_out = Chronicle.leave_out

    def noted(self: Chronicle, seconds: float, pods: Any) -> None:
        found.append(seconds)
        leave_out(self, seconds, pods)

    monkeypatch.setattr(Chronicle, "leave_out", noted)
    return found


REPEAT = {
    "one run an hour, and one a night": question(HOURLY, NIGHTLY),
    "runs that end on the next day": question(
        cron_job("late", "40 23 * * *"), many("around", "0 * * * *"), rules=[Rule("*", (Run(0.9 * HOUR),))]
    ),
    "runs that fail, are tried again, and fail once more": question(
        many("flaky", "15 */6 * * *"),
        cron_job("bad", "45 5 * * *"),
        rules=[
            Rule("*", (Run(40.0),)),
            Rule("flaky-*", (Exit(1), Exit(0))),
            Rule(job="bad-*", runs=(Exit(3),)),
        ],
    ),
    "runs that wait for room": question(
        *(many(f"x{number}", "10 */4 * * *") for number in range(3)),
        rules=[Rule("*", (Run(400.0),))],
        nodes=nodes(2, {"cpu": "2"}),
    ),
    "runs that are skipped or replaced": question(
        cron_job("forbid", "*/30 * * * *", concurrencyPolicy="Forbid", startingDeadlineSeconds=60),
        cron_job("replace", "*/50 * * * *", concurrencyPolicy="Replace"),
        rules=[Rule("*", (Run(2000.0),))],
    ),
    "another zone, and a start in the day": question(
        cron_job("there", "0 9 * * *", timeZone="Asia/Kolkata"),
        days=9.3,
        zone="Asia/Tokyo",
        start=datetime(2027, 1, 1, 13, 7, 5, tzinfo=UTC),
    ),
    "weekdays": question(cron_job("monday", "0 6 * * 1"), cron_job("workdays", "0 5 * * 1-5"), days=60),
    "more than twenty days": question(NIGHTLY, days=32),
}


@pytest.mark.parametrize("which", REPEAT)
def test_an_answer_with_days_left_out_is_that_in_full(which: str, left_out: list[float]) -> None:
    asked = REPEAT[which]
    found = simulate(asked)
    assert left_out, "a part is left out"
    assert sum(left_out) >= 3 * DAY
    assert found == in_full(asked)
    assert found.jobs


@pytest.mark.parametrize("seed", [1, 2])
def test_names_are_those_of_the_seed(seed: int, left_out: list[float]) -> None:
    asked = question(many("a", "10 3 * * *"), NIGHTLY, seed=seed)
    assert [bar.name for bar in simulate(asked).bars] == [bar.name for bar in in_full(asked).bars]
    assert left_out


DIFFER = {
    "dice": question(HOURLY, rules=[Rule("*", (Chance((1, Exit(0, after="1m")), (1, Exit(1))),))]),
    "functions": question(HOURLY, rules=[Rule("*", (lambda pod: Run(len(pod["metadata"]["name"])),))]),
    "days of the month": question(cron_job("monthly", "0 0 */3 * *"), NIGHTLY),
    "other work": question(NIGHTLY, job(completions=200, parallelism=1, cpu="1")),
    "a gang": question(NIGHTLY, gang("g", 2, "1")),
    "no times of the day": question(cron_job("paced", "@every 7h")),
    "troubles": question(HOURLY, troubles=Troubles(eviction_mean=HOUR)),
    "clocks are changed": question(
        NIGHTLY, zone="Europe/Berlin", start=datetime(2027, 3, 25, tzinfo=UTC), days=9
    ),
    "runs longer than a day": question(NIGHTLY, rules=[Rule("*", (Run(50 * HOUR),))], days=8),
    "runs that wait for a quota, by turns": question(
        QUOTA, many("a", "0 1 * * *"), many("b", "0 1 * * *"), days=7
    ),
    "one name in four is of a bad run": question(
        HOURLY, rules=[Rule("hourly-*-[bcdfghj]????", (Exit(1),))], days=7
    ),
}


@pytest.mark.parametrize("which", DIFFER)
def test_a_question_whose_days_differ_is_played_in_full(which: str, left_out: list[float]) -> None:
    asked = DIFFER[which]
    found = simulate(asked)
    assert not left_out
    assert found == in_full(asked)


def test_a_rule_for_one_run_of_a_day_that_was_left_out_counts() -> None:
    night = f"nightly-{int(START.timestamp()) // 60 + 6 * 1440 + 150}"
    asked = question(NIGHTLY, rules=[Rule(job=night, runs=(Exit(7),))])
    assert {row.name for row in simulate(asked).jobs if row.failed} == {f"job/{night}"}


def test_a_day_that_is_played_and_is_not_like_those_left_out_has_all_played_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = question(NIGHTLY, days=32)
    wanted, again = in_full(asked), []
    monkeypatch.setattr(repeated_days, "_are_alike", lambda one, other: again.append(one))
    assert simulate(asked) == wanted
    assert again, "days were left out, and one was compared"


@pytest.mark.parametrize("line", [PodLine, WorkLine])
def test_every_time_of_a_line_is_later_on_a_later_day(line: type[Any]) -> None:
    times = {field.name for field in fields(line) if "float" in str(field.type)}
    assert times
    assert times <= {*repeated_days._TIMES}
