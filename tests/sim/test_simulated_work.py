"""What the simulator answers: when work ends, what waits and why, which runs are skipped."""

from __future__ import annotations

import gc
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from longshore.api.errors import StatusError
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Exit, Run
from longshore.sim.settings import SimSettings
from longshore.sim.simulate import simulate
from longshore.testing.troubles import Troubles
from sim.worlds import DAY, HOUR, cron_job, gang, job, played


def test_a_job_takes_as_long_as_its_waves() -> None:
    found = played(job(completions=8, parallelism=8), rules=[Rule("*", (Run(600.0),))])
    row = found.jobs[0]
    assert (row.name, row.result, row.pods) == ("job/x", "complete", 8)
    assert row.ended == pytest.approx(1200, abs=5)  # four processors, so two waves
    assert found.nodes[0].used["cpu"] > 0


def test_failed_pods_are_tried_again_by_the_real_policy() -> None:
    found = played(
        job(backoffLimit=2), rules=[Rule("*", (Exit(1, after="10s"), Exit(1, after="10s"), Exit(0)))]
    )
    row = found.jobs[0]
    assert (row.result, row.pods, row.failed) == ("complete", 3, 2)
    assert row.ended == pytest.approx(10 + 10 + 10 + 20, abs=5)  # back-offs of 10 and 20 seconds


def test_a_job_beyond_its_limit_fails_with_its_reason() -> None:
    found = played(job(backoffLimit=0), rules=[Rule("*", (Exit(3),))])
    assert (found.jobs[0].result, found.jobs[0].reason) == ("failed", "BackoffLimitExceeded")
    assert "job/x fails: BackoffLimitExceeded" in found.remarks


def test_containers_restart_in_place_where_the_policy_says_so() -> None:
    work = job()
    work["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    fails = Exit(1, after="5s")
    found = played(work, rules=[Rule("*", (fails, fails, Exit(0, after="5s")))])
    assert (found.jobs[0].result, found.jobs[0].pods) == ("complete", 1)
    assert found.jobs[0].ended == pytest.approx(5 + 5 + 10 + 5, abs=3)  # at once, then after 10 seconds


def test_a_simulation_goes_on_while_a_pod_runs() -> None:
    found = played(job(), rules=[Rule("*", (Run(20 * HOUR),))], seconds=30 * DAY)
    assert (found.jobs[0].result, found.jobs[0].ended) == ("complete", pytest.approx(20 * HOUR, abs=5))


def test_a_simulation_goes_on_while_a_run_is_ahead() -> None:
    found = played(cron_job("daily", "0 9 * * *"), seconds=DAY)
    assert (found.cron_jobs[0].runs, found.cron_jobs[0].complete) == (1, 1)


def test_a_simulation_goes_on_while_a_deadline_is_ahead() -> None:
    found = played(job(cpu="100", activeDeadlineSeconds=int(5 * HOUR)), seconds=30 * DAY)
    assert (found.jobs[0].result, found.jobs[0].reason) == ("failed", "DeadlineExceeded")


def test_a_simulation_ends_when_nothing_can_happen() -> None:
    assert played(job(cpu="100"), seconds=30 * DAY).seconds < DAY


def test_a_simulation_goes_on_while_a_node_is_repaired() -> None:
    troubles = Troubles(node_mtbf=HOUR, node_repair=10 * HOUR)
    found = played(job(), rules=[Rule("*", (Run(2 * HOUR),))], troubles=troubles, seconds=30 * DAY)
    assert found.jobs[0].result == "complete"


def test_hourly_runs_of_two_days_over_a_change_of_the_clock() -> None:
    found = played(cron_job("hourly", "0 * * * *"), seconds=2 * DAY + 600, until_done=False)
    row = found.cron_jobs[0]
    assert row.runs == row.complete == 49  # those of both ends, which are 48 hours apart
    assert not row.skipped


@pytest.mark.parametrize(
    ("schedule", "day", "said"),
    [
        ("30 2 * * *", 28, ["does not run at 28 Mar 02:30: clocks go forward over it (Europe/Berlin)"]),
        ("30 3 * * *", 28, []),
        ("*/20 * * * *", 28, []),
        ("30 2 * 10 *", 31, ["runs twice at 31 Oct 02:30: clocks go back over it (Europe/Berlin)"]),
        ("30 * * 10 *", 31, []),
    ],
)
def test_a_time_that_clocks_pass_over_or_have_twice_is_told(schedule: str, day: int, said: list[str]) -> None:
    start = datetime(2027, 10 if day == 31 else 3, day, tzinfo=ZoneInfo("Europe/Berlin"))
    settings = SimSettings([cron_job("x", schedule)], start, "Europe/Berlin", 4 * HOUR)
    found = simulate(settings)
    assert found.cron_jobs[0].clock_changes == said
    assert not found.cron_jobs[0].skipped
    assert [line for line in found.remarks if "clocks" in line] == [f"cronjob/x {each}" for each in said]


def test_a_question_without_work_is_answered_in_words() -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {}}
    assert played(settings).remarks == [
        "there is nothing to do: no pod, no Job that has not ended, no CronJob"
    ]


def test_runs_that_the_next_one_ends_are_told() -> None:
    work = cron_job("x", "0 * * * *", concurrencyPolicy="Replace")
    found = played(work, rules=[Rule("*", (Run(1.5 * HOUR),))], seconds=4 * HOUR, until_done=False)
    assert (found.cron_jobs[0].runs, found.cron_jobs[0].replaced) == (4, 3)
    assert "3 runs of cronjob/x are ended by the next one (Replace)" in found.remarks


def test_work_of_which_nobody_said_how_its_pods_go_is_named() -> None:
    told = job("told")
    told["spec"]["template"]["metadata"] = {"annotations": {"sim.longshore.dev/duration": "3m"}}
    objects = told, job("ruled"), job("plain"), cron_job("hourly", "0 * * * *")
    found = played(*objects, rules=[Rule(job="ruled")], seconds=3 * HOUR, until_done=False)
    assert sorted(found.unsaid) == ["cronjob/hourly", "job/plain"]
    ends = {row.name: row.ended for row in found.jobs if not row.owner}
    assert ends["job/told"] == pytest.approx(180, abs=1)
    assert ends["job/plain"] == pytest.approx(60, abs=1)


def test_runs_that_wait_for_the_one_before_are_told() -> None:
    found = played(
        cron_job("slow", "0 * * * *", concurrencyPolicy="Forbid"),
        seconds=12 * HOUR,
        until_done=False,
        rules=[Rule("*", (Run(2.5 * HOUR),))],
    )
    row = found.cron_jobs[0]
    assert row.runs < 11
    assert row.skipped
    assert "Forbid" in row.skipped[0].why
    assert any(
        text.startswith(f"{len(row.skipped)} runs of cronjob/slow are skipped") for text in found.remarks
    )


def test_a_pod_larger_than_every_node_can_never_start() -> None:
    found = played(job(cpu="8"))
    assert found.jobs[0].result == "waiting"
    assert "job/x can never start: a pod asks for 8 cpu, the largest node has 4" in found.remarks


def test_a_gang_that_does_not_fit_waits_with_numbers() -> None:
    found = played(gang("train", 3, "3"))
    assert found.jobs[0].result == "waiting"
    assert "3 × 3 cpu" in found.jobs[0].waits_for
    said = "vcjob/train can never start: it asks for 9 cpu at once, all nodes together have 4"
    assert said in found.remarks


def test_limits_of_a_gang_count_as_requests() -> None:
    work = gang("train", 3, "3")
    container = work["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": container["resources"]["requests"]}
    found = played(work)
    said = "vcjob/train can never start: it asks for 9 cpu at once, all nodes together have 4"
    assert said in found.remarks


def test_a_waiting_gang_is_told_of_in_one_reason() -> None:
    found = played(gang("train", 3, "3"))
    assert found.jobs[0].waits_for == "needs 3 × 3 cpu, queue default has 4 cpu left, 1 node fits 1"


def test_gangs_share_the_nodes_one_after_the_other() -> None:
    found = played(gang("one", 4, "1"), gang("two", 4, "1"), rules=[Rule("*", (Run(300.0),))])
    assert [row.result for row in found.jobs] == ["complete", "complete"]
    assert found.queues[0].works == 2
    assert found.queues[0].longest_wait == pytest.approx(299, abs=1)


def test_failing_nodes_evict_and_the_job_goes_on() -> None:
    found = played(
        job(completions=6, parallelism=2, backoffLimit=50),
        count=2,
        rules=[Rule("*", (Run(HOUR),))],
        troubles=Troubles(node_mtbf=3 * HOUR, node_repair=600.0),
        seed=4,
    )
    assert found.node_failures
    assert found.jobs[0].result == "complete"
    assert any(bar.result == "evicted" for bar in found.bars)


def test_a_pod_that_ignores_its_end_is_killed_after_its_grace_period() -> None:
    work = job(activeDeadlineSeconds=60)
    work["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 20
    found = played(work, rules=[Rule("*", (Run.forever(on_term=None),))])
    assert (found.jobs[0].result, found.jobs[0].reason) == ("failed", "DeadlineExceeded")
    assert found.jobs[0].ended == pytest.approx(80, abs=3)


def test_a_manifest_that_the_api_refuses_is_refused_here() -> None:
    with pytest.raises(StatusError, match="parallelism"):
        played(job(parallelism=-1))


def test_the_collector_of_garbage_is_as_it_was_after_a_simulation() -> None:
    before = gc.get_threshold(), bool(gc.get_freeze_count())
    played(job())
    assert (gc.get_threshold(), bool(gc.get_freeze_count())) == before
