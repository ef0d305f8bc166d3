"""Fifteen questions that people plan with; each test has the calculation by hand."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from longshore.api.types import Obj
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Exit, Run
from longshore.sim import checks, variations
from longshore.sim.pictures import table
from longshore.sim.settings import SimSettings, nodes
from longshore.sim.sim_result import SimResult
from longshore.sim.simulate import simulate
from longshore.testing.troubles import NodeFailure, Troubles
from sim.worlds import DAY, HOUR, START, ZONE, cron_job, gang, job, played

SOON = 1.0
MINUTE = 60.0


def lasting(seconds: float) -> list[Rule]:
    return [Rule("*", (Run(seconds),))]


def near(seconds: float) -> Any:
    return pytest.approx(seconds, abs=SOON)


def asked(*objects: Obj, start: datetime, seconds: float, cpu: str = "4", **more: Any) -> SimResult:
    given = nodes(1, {"cpu": cpu})
    return simulate(SimSettings(objects, start, ZONE, seconds, nodes=given, **more))


def test_1_how_many_nodes_does_a_night_of_six_hours_need() -> None:
    """24 parts of an hour and 2 processors are 48 processor hours. A node of 4 takes two parts at a time:
    24 h on 1 node / 2 = 12 h, on 2 nodes 6 h, which is not before 06:00, on 3 nodes 24 / 6 = 4 h."""
    work = job(completions=24, parallelism=24, cpu="2")
    window = checks.expectations({"job/x": "done before 06:00"})
    found = {n: played(work, count=n, rules=lasting(HOUR), windows=window) for n in (1, 2, 3)}
    assert [result.jobs[0].ended for result in found.values()] == [
        near(12 * HOUR),
        near(6 * HOUR),
        near(4 * HOUR),
    ]
    assert [not checks.broken(result, window) for result in found.values()] == [False, False, True]
    assert "the window on 27 Mar at 06:00: 2h to spare" in table.of(found[3])


def test_2_a_night_in_which_clocks_go_forward_loses_an_hour() -> None:
    """A run of 5 hours from 00:30 on 28 March ends at 00:30 + 5 h + the hour from 02:00 to 03:00: 06:30. The
    run of 02:30 is left out that night."""
    start = datetime(2027, 3, 28, tzinfo=ZoneInfo(ZONE))
    works = cron_job("long", "30 0 * * *"), cron_job("lost", "30 2 * * *")
    found = asked(*works, start=start, seconds=12 * HOUR, rules=lasting(5 * HOUR))
    long, lost = found.cron_jobs
    assert f"{found.clock(long.last_end or 0.0):%H:%M}" == "06:30"
    assert (lost.runs, len(lost.skipped)) == (0, 0)
    assert lost.clock_changes == ["does not run at 28 Mar 02:30: clocks go forward over it (Europe/Berlin)"]


def test_3_a_day_on_which_clocks_go_back_has_25_hours() -> None:
    start = datetime(2027, 10, 31, tzinfo=ZoneInfo(ZONE))
    found = asked(cron_job("hourly", "0 * * * *"), start=start, seconds=25 * HOUR, rules=lasting(MINUTE))
    assert (found.cron_jobs[0].runs, found.cron_jobs[0].complete) == (25, 25)
    assert f"{start + timedelta(days=1):%d %b %H:%M}" == f"{found.clock(25 * HOUR):%d %b %H:%M}"


def test_4_a_quota_makes_work_take_turns() -> None:
    """Ten pods of a processor under a quota of two: five rounds of a minute, whatever the node has."""
    quota: Obj = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    quota["spec"] = {"hard": {"requests.cpu": "2"}}
    found = played(quota, job(completions=10, parallelism=10), cpu="64", rules=lasting(MINUTE))
    assert found.jobs[0].ended == pytest.approx(5 * MINUTE, abs=5 * SOON)


def test_5_gangs_that_fit_two_at_a_time() -> None:
    """Five gangs of four processors on ten: two at a time, so three rounds of ten minutes."""
    found = played(*(gang(f"g{n}", 4, "1") for n in range(5)), cpu="10", rules=lasting(10 * MINUTE))
    rounds = [round((row.ended or 0.0) / (10 * MINUTE)) for row in found.jobs]
    assert rounds == [1, 1, 2, 2, 3]
    assert found.seconds == pytest.approx(30 * MINUTE, abs=3 * SOON)


def test_6_a_job_that_always_fails_gives_up_after_its_back_off() -> None:
    """backoffLimit 3: four attempts of 30 s, with pauses of 10, 20 and 40 s: 120 + 70 = 190 s."""
    found = played(job(backoffLimit=3), rules=[Rule("*", (Exit(1, after="30s"),))])
    (row,) = found.jobs
    assert (row.result, row.reason, row.pods, row.failed) == ("failed", "BackoffLimitExceeded", 4, 4)
    assert row.ended == near(190)


def test_7_a_container_that_restarts_in_place_waits_in_between() -> None:
    """Three failures and a success of 20 s each, with pauses of 0, 10 and 20 s: 80 + 30 = 110 s."""
    work = job()
    work["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    fails = Exit(1, after="20s")
    found = played(work, rules=[Rule("*", (fails, fails, fails, Exit(0, after="20s")))])
    assert (found.jobs[0].pods, found.jobs[0].ended) == (1, near(110))


def test_8_a_deadline_ends_what_still_runs() -> None:
    """Ten parts of half an hour, two at a time, in at most 3500 s: two are done at 1800 s, two are ended."""
    found = played(job(completions=10, parallelism=2, activeDeadlineSeconds=3500), rules=lasting(1800.0))
    (row,) = found.jobs
    assert (row.result, row.reason, row.ended) == ("failed", "DeadlineExceeded", near(3500))
    assert Counter(bar.result for bar in found.bars) == {"succeeded": 2, "stopped": 2}


def test_9_a_node_that_dies_at_three_costs_the_night_three_hours_and_six_minutes() -> None:
    """Four parts of six hours on two nodes with room for four each, so that two run on each. At 03:00 one
    node dies for an hour. Its parts start again 40 + 300 s later: 03:05:40 + 6 h = 09:05:40."""
    troubles = Troubles(failures=(NodeFailure("node-1", 3 * HOUR, HOUR),))
    work = job(completions=4, parallelism=4)
    found = played(work, cpu="4", count=2, rules=lasting(6 * HOUR), troubles=troubles)
    assert Counter(bar.result for bar in found.bars) == {"succeeded": 4, "evicted": 2}
    assert found.jobs[0].ended == near(3 * HOUR + 340 + 6 * HOUR)


def test_10_queues_take_no_more_than_they_may() -> None:
    """Eight processors, of which queue `a` may use two and `b` six. 8 and 24 gangs of one processor and one
    hour need four rounds each: 25 % and 75 % of what is used."""
    queues: list[Obj] = [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": 1, "capability": {"cpu": cpu}},
        }
        for name, cpu in (("a", "2"), ("b", "6"))
    ]
    gangs = [gang(f"b{n}", 1, "1", queue="b") for n in range(24)]
    gangs += [gang(f"a{n}", 1, "1", queue="a") for n in range(8)]
    found = played(*queues, *gangs, cpu="8", rules=lasting(HOUR))
    assert {row.name: round(row.share, 2) for row in found.queues} == {"a": 0.25, "b": 0.75}
    for queue in "ab":
        ended = max(row.ended or 0.0 for row in found.jobs if row.name.startswith(f"vcjob/{queue}"))
        assert ended == pytest.approx(4 * HOUR, abs=MINUTE)


def test_11_urgent_work_takes_the_place_of_other_work() -> None:
    """The only processor works for `slow`, 2 h, when `urgent` comes at 01:00 for 30 minutes. `slow` begins
    again at 01:30, and ends at 03:30."""
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}}
    cron = cron_job("urgent", "0 1 * * *")
    cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]["priorityClassName"] = "urgent"
    rules = [Rule("slow-*", (Run(2 * HOUR),)), Rule("urgent-*", (Run(1800.0),))]
    found = played({**urgent, "value": 1000}, cron, job("slow"), cpu="1", rules=rules)
    ends = {row.name.partition("-")[0]: row.ended for row in found.jobs}
    assert ends["job/urgent"] == near(1.5 * HOUR)
    assert ends["job/slow"] == near(3.5 * HOUR)
    assert Counter(bar.result for bar in found.bars) == {"succeeded": 2, "evicted": 1}


@pytest.mark.parametrize(
    ("more", "starts"), [({}, [0, 25, 50, 75, 100]), ({"startingDeadlineSeconds": 60}, [0, 30, 60, 90])]
)
def test_12_runs_that_may_not_overlap_are_skipped(more: dict[str, int], starts: list[int]) -> None:
    """Every ten minutes for 25, Forbid. As a run ends, the last time that was missed is made up for: at 25
    that of 20, at 50 that of 50, at 75 that of 70. With a deadline of a minute 30, 60 and 90 are left."""
    work = cron_job("x", "*/10 * * * *", concurrencyPolicy="Forbid", **more)
    found = played(work, seconds=2 * HOUR, rules=lasting(25 * MINUTE))
    assert [round(row.queued / MINUTE) for row in found.jobs] == starts
    assert len(found.cron_jobs[0].skipped) == 12 - len(starts)


def test_13_runs_that_replace_each_other_never_end() -> None:
    """Every ten minutes for 25, Replace: in an hour six runs begin, five are ended by the next one."""
    work = cron_job("x", "*/10 * * * *", concurrencyPolicy="Replace")
    found = played(work, seconds=HOUR, rules=lasting(25 * MINUTE))
    row = found.cron_jobs[0]
    assert (row.runs, row.complete, row.replaced) == (6, 0, 5)


def test_14_what_if_more_ran_at_a_time() -> None:
    """Twelve parts of ten minutes: two hours one by one, and so on down to ten minutes."""
    work = job(completions=12, cpu="100m")
    choices = variations.variants([work], [variations.change("job/x.spec.parallelism=1,2,3,4,6,12")])
    found = [played(*each.objects, rules=lasting(10 * MINUTE)).jobs[0].ended for each in choices]
    assert found == [near(n * MINUTE) for n in (120, 60, 40, 30, 20, 10)]


def test_15_one_bad_index_fails_alone_and_then_its_job() -> None:
    """Four parts of a minute, of which index 2 always fails, with one retry after 10 s: the others are done
    at 60 s, the Job has failed at 60 + 10 + 60 s."""
    work = job(completions=4, parallelism=4, completionMode="Indexed", backoffLimitPerIndex=1)
    rules = [*lasting(MINUTE), Rule("x-*", (Exit(1, after="60s"),), index=2)]
    (row,) = played(work, rules=rules).jobs
    assert (row.result, row.reason, row.pods, row.failed) == ("failed", "FailedIndexes", 5, 2)
    assert row.ended == near(130)


def test_the_questions_are_asked_of_a_known_start() -> None:
    assert START.isoformat() == "2027-03-27T00:00:00+01:00"
    assert DAY == 24 * HOUR
