"""The reasons for which work waits, with numbers: in the table, in JSON, and in the picture."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Run
from longshore.sim.pictures import table, timeline
from longshore.sim.sim_result import SimResult
from sim.worlds import HOUR, gang, job, played

MINUTE = [Rule("*", (Run(60.0),))]
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q"},
    "spec": {"hard": {"requests.cpu": "2"}},
}
SMALL = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "small"},
    "spec": {"weight": 1, "capability": {"cpu": "4"}},
}
EXCEEDED = "exceeded quota: q, requested: requests.cpu=3, used: requests.cpu=0, limited: requests.cpu=2"


def with_pod(**spec: Any) -> Obj:
    work = job()
    work["spec"]["template"]["spec"] |= spec
    return work


def details(found: SimResult) -> list[str]:
    lanes = timeline.of("x", {"": found})["rows"]
    rows = [row for lane in lanes for row in lane.get("rows", [lane])]
    return [bar["detail"] for row in rows for bar in row["bars"] if bar["state"] == "waiting"]


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ((QUOTA, job(cpu="3")), EXCEEDED),
        ((with_pod(priorityClassName="gold"),), "no PriorityClass with name gold was found"),
        ((with_pod(runtimeClassName="kata"),), 'pod rejected: RuntimeClass "kata" not found'),
        ((job(suspend=True),), "it is suspended"),
        ((job(cpu="5"),), "0/1 nodes are available: 1 Insufficient cpu; asks 5 cpu"),
        ((gang("x", 2, "3"),), "needs 2 × 3 cpu, queue default has 4 cpu left, 1 node fits 1"),
        (
            (SMALL, gang("x", 8, "1", queue="small")),
            "needs 8 × 1 cpu, queue small has 4 cpu left, 1 node fits",
        ),
    ],
    ids=["quota", "priority class", "runtime class", "suspension", "room", "room of a gang", "queue"],
)
def test_work_that_has_not_started_says_what_it_waits_for(
    objects: tuple[Obj, ...], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = played(*objects, rules=MINUTE, seconds=HOUR)
    (row,) = found.jobs
    assert row.waits_for.startswith(said)
    assert row.waited_for == ""
    assert row.waits_for in table.of(found)
    assert any("has not started" in text or "can never start" in text for text in found.remarks)
    assert [
        text
        for record in caplog.records
        if (text := record.getMessage()) and record.levelno > logging.WARNING
    ] == []


def test_a_gang_that_had_to_wait_for_its_queue_says_so_afterwards() -> None:
    """The queue has 4 processors: the second gang of four waits for the first, which takes a minute."""
    found = played(
        SMALL, gang("a", 4, "1", queue="small"), gang("b", 4, "1", queue="small"), rules=MINUTE, cpu="64"
    )
    first, second = found.jobs
    assert (first.waited_for, second.waits_for) == ("", "")
    assert second.waited_for == "needs 4 × 1 cpu, queue small has 0 cpu left, 1 node fits 60"
    assert second.started == pytest.approx(60, abs=2)
    assert f"waited: {second.waited_for}" in table.of(found)


def test_a_job_that_had_to_wait_for_room_says_so_afterwards() -> None:
    found = played(job("a"), job("b"), rules=MINUTE, cpu="1")
    assert found.jobs[1].waited_for.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert details(found) == [found.jobs[1].waited_for]


def test_of_many_nodes_without_room_one_is_named() -> None:
    (row,) = played(job(cpu="5"), count=20, seconds=HOUR).jobs
    assert row.waits_for == (
        "0/20 nodes are available: 20 Insufficient cpu; asks 5 cpu, node node-00 has 4 of 4 left"
    )


def test_a_job_that_had_to_wait_for_quota_says_so_afterwards() -> None:
    found = played(QUOTA, job("a", cpu="2"), job("b", cpu="2"), rules=MINUTE)
    assert found.jobs[1].waited_for.startswith(
        "exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=2"
    )
    assert (found.jobs[1].started or 0.0) >= 60


def test_a_gang_that_its_quota_lets_fail_says_so() -> None:
    found = played(QUOTA, gang("x", 4, "1"), rules=MINUTE)
    (row,) = found.jobs
    assert row.result == "failed"
    assert row.reason == (
        "Terminated: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=2, "
        "limited: requests.cpu=2"
    )


def test_a_job_whose_later_pods_wait_is_running_and_says_why() -> None:
    found = played(job(completions=2, parallelism=2, cpu="3"), rules=[Rule("*", (Run(HOUR),))], seconds=600)
    (row,) = found.jobs
    assert row.result == "running"
    assert row.waits_for.startswith("0/1 nodes are available: 1 Insufficient cpu; asks 3 cpu")
