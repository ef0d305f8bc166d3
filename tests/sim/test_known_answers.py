"""Questions whose answers people work out by hand: the times, the shares and the counts are exactly those."""

from __future__ import annotations

import pytest

from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Exit, Run
from sim.worlds import HOUR, cron_job, gang, job, played

SOON = 0.1
"""Controllers and nodes take less than this many seconds."""


def test_a_container_that_fails_twice_restarts_at_once_and_after_ten_seconds() -> None:
    work = job()
    work["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    fails = Exit(1, after="5s")
    found = played(work, rules=[Rule("*", (fails, fails, Exit(0, after="5s")))])
    assert found.jobs[0].ended == pytest.approx(5 + 5 + 10 + 5, abs=SOON)


def test_a_pod_ends_at_its_own_deadline() -> None:
    work = job(backoffLimit=0)
    work["spec"]["template"]["spec"]["activeDeadlineSeconds"] = 30
    found = played(work, rules=[Rule("*", (Run(600.0),))])
    row = found.jobs[0]
    assert (row.result, row.reason, row.failed) == ("failed", "BackoffLimitExceeded", 1)
    assert row.ended == pytest.approx(30, abs=SOON)


def test_a_simulation_is_as_long_as_its_last_work() -> None:
    found = played(job("x"), job("y"), rules=[Rule("*", (Run(50.0),)), Rule("y-*", (Run(90.0),))])
    assert found.seconds == pytest.approx(90, abs=SOON)


@pytest.mark.parametrize(("completions", "parallelism", "share"), [(2, 2, 1.0), (5, 2, 5 / 6), (3, 1, 0.5)])
def test_nodes_are_used_until_the_last_work_ends(completions: int, parallelism: int, share: float) -> None:
    work = job(completions=completions, parallelism=parallelism)
    found = played(work, rules=[Rule("*", (Run(40.0),))], cpu="2")
    assert found.nodes[0].used["cpu"] == pytest.approx(share, abs=0.01)


def test_a_pod_of_its_own_counts_as_work() -> None:
    alone = {**job("alone")["spec"]["template"], "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    found = played(alone, job(), rules=[Rule("*", (Run(60.0),)), Rule("p", (Run(2 * HOUR),))], cpu="2")
    assert found.seconds == pytest.approx(2 * HOUR, abs=SOON)
    assert found.bars[0].result == "succeeded"


def test_a_simulation_with_cron_jobs_is_as_long_as_was_asked() -> None:
    found = played(cron_job("x", "0 * * * *"), seconds=2 * HOUR, rules=[Rule("*", (Run(900.0),))], cpu="1")
    assert found.seconds == pytest.approx(2 * HOUR)
    assert found.nodes[0].used["cpu"] == pytest.approx(0.25, abs=0.01)


def test_pods_that_a_deadline_ends_have_failed() -> None:
    found = played(job(parallelism=3, activeDeadlineSeconds=30), rules=[Rule("*", (Run(600.0),))])
    row = found.jobs[0]
    assert (row.result, row.reason, row.pods, row.failed) == ("failed", "DeadlineExceeded", 3, 3)
    assert row.ended == pytest.approx(30, abs=SOON)


def test_jobs_of_one_file_start_in_its_order() -> None:
    names = ["z", "m", "a", "q"]
    found = played(*(job(name, cpu="4") for name in names), rules=[Rule("*", (Run(100.0),))])
    starts = {row.name: row.started for row in found.jobs}
    assert starts == {f"job/{name}": pytest.approx(100 * n, abs=SOON) for n, name in enumerate(names)}


def test_gangs_of_one_file_start_in_its_order() -> None:
    found = played(*(gang(name, 2, "2") for name in ("z", "m", "a")), rules=[Rule("*", (Run(100.0),))])
    starts = sorted((row.started or 0.0, row.name) for row in found.jobs)
    assert [name for _, name in starts] == ["vcjob/z", "vcjob/m", "vcjob/a"]
    assert [row.queued for row in found.jobs] == [pytest.approx(n, abs=SOON) for n in range(3)]


def test_many_gangs_of_one_file_are_queued_within_a_minute() -> None:
    found = played(*(gang(f"g-{n}", 1, "10m") for n in range(120)), rules=[Rule("*", (Run(100.0),))])
    assert [row.queued for row in found.jobs] == [pytest.approx(n / 2, abs=SOON) for n in range(120)]
    short = played(gang("a", 1, "1"), gang("b", 1, "1"), seconds=1.0)
    assert [row.queued for row in short.jobs] == [pytest.approx(0, abs=SOON), pytest.approx(0.25, abs=SOON)]
