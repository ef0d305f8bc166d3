"""The table of phases and actions, and the rules that change a phase."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.controllers.volcano.job.controller import fnv1
from longshore.controllers.volcano.job.rules import phases, table
from longshore.controllers.volcano.job.rules.table import Kind, Then

ACTIONS = (
    *("SyncJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition"),
    *("AbortJob", "CompleteJob", "TerminateJob", "ResumeJob", "EnqueueJob", "nonsense"),
)


@pytest.mark.parametrize("phase", ["Pending", "Running", "", "nonsense"])
def test_a_job_that_is_alive_takes_every_order(phase: str) -> None:
    sync = Then.IF_ENDED if phase == "Running" else Then.IF_STARTED
    expected = {
        "RestartJob": (Kind.KILL, Then.RESTART, False),
        "RestartTask": (Kind.TARGETED, Then.RESTART, False),
        "RestartPod": (Kind.TARGETED, Then.RESTART, False),
        "RestartPartition": (Kind.TARGETED, Then.RESTART, False),
        "AbortJob": (Kind.KILL, Then.ABORT, True),
        "CompleteJob": (Kind.KILL, Then.COMPLETE, True),
        "TerminateJob": (Kind.KILL, Then.TERMINATE, True),
    }
    for action in ACTIONS:
        step = table.step(phase, action)
        assert (step.kind, step.then, step.soft) == expected.get(action, (Kind.SYNC, sync, False)), action


@pytest.mark.parametrize("action", ACTIONS)
def test_a_restarting_job_takes_no_order_but_to_restart(action: str) -> None:
    step = table.step("Restarting", action)
    assert step.then is Then.IF_RESTARTED
    targeted = action in ("RestartTask", "RestartPod", "RestartPartition")
    assert step.kind is (Kind.TARGETED if targeted else Kind.SYNC if action == "SyncJob" else Kind.KILL)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    ("phase", "then"),
    [
        ("Completing", Then.COMPLETED),
        ("Terminating", Then.TERMINATED),
        ("Completed", Then.NOTHING),
        ("Failed", Then.NOTHING),
        ("Terminated", Then.NOTHING),
        ("Aborting", Then.ABORTED),
        ("Aborted", Then.NOTHING),
    ],
)
def test_a_job_that_ends_or_has_ended_is_only_cleaned_up(phase: str, then: Then, action: str) -> None:
    if phase.startswith("Abort") and action == "ResumeJob":
        then = Then.RESTART
    assert table.step(phase, action) == table.Step(Kind.KILL, then, soft=True)


def a_job(*replicas: int, least: int, **spec: Any) -> Any:
    tasks = [{"name": f"t{n}", "replicas": many} for n, many in enumerate(replicas)]
    return {"metadata": {"name": "j"}, "spec": {"tasks": tasks, "minAvailable": least, "maxRetry": 3, **spec}}


@pytest.mark.parametrize(
    ("then", "job", "status", "phase"),
    [
        (Then.IF_STARTED, a_job(5, least=3), {"running": 3}, "Running"),
        (Then.IF_STARTED, a_job(5, least=3), {"running": 2}, None),
        (Then.IF_STARTED, a_job(5, least=3), {"succeeded": 1, "failed": 1, "running": 1}, "Running"),
        (Then.IF_ENDED, a_job(2, least=0), {"succeeded": 2}, "Completed"),
        (Then.IF_ENDED, a_job(5, least=3), {"pending": 5}, "Pending"),
        (Then.IF_ENDED, a_job(5, least=3), {"pending": 3, "running": 2}, "Pending"),
        (Then.IF_ENDED, a_job(5, least=3), {"pending": 2, "running": 1, "succeeded": 1, "failed": 1}, None),
        (Then.IF_ENDED, a_job(0, least=0), {}, None),
        (Then.IF_ENDED, a_job(4, least=4, minSuccess=2), {"succeeded": 2, "running": 2}, "Completed"),
        (Then.IF_ENDED, a_job(4, least=1, minSuccess=3), {"succeeded": 2, "failed": 2}, "Failed"),
        (Then.IF_ENDED, a_job(3, least=2), {"succeeded": 2, "failed": 1}, "Completed"),
        (Then.IF_ENDED, a_job(3, least=2), {"succeeded": 1, "failed": 2}, "Failed"),
        (Then.IF_RESTARTED, a_job(2, least=1), {"retryCount": 3, "minAvailable": 1}, "Failed"),
        (Then.IF_RESTARTED, a_job(2, least=1), {"retryCount": 1, "minAvailable": 1}, "Pending"),
        (Then.IF_RESTARTED, a_job(2, least=2), {"retryCount": 1, "minAvailable": 2, "terminating": 1}, None),
        (Then.ABORTED, a_job(1, least=1), {}, "Aborted"),
        (Then.ABORTED, a_job(1, least=1), {"terminating": 1}, None),
        (Then.NOTHING, a_job(1, least=1), {}, None),
    ],
)
def test_rules(then: Then, job: Any, status: Any, phase: str | None) -> None:
    change = phases.change(then, job, status)
    assert (change and change.phase) == phase


def test_a_task_short_of_successes_fails_the_job() -> None:
    job = a_job(2, 2, least=4)
    job["spec"]["tasks"][0]["minAvailable"] = 2
    counts = {"t0": {"phase": {"Succeeded": 1, "Failed": 1}}, "t1": {"phase": {"Succeeded": 2}}}
    status = {"succeeded": 3, "failed": 1, "taskStatusCount": counts}
    change = phases.change(Then.IF_ENDED, job, status)
    assert change is not None
    assert change.why.words == "Failed: 1 pods of task 't0' succeeded, 2 are needed"


def test_only_a_restart_spends_a_retry() -> None:
    for then in Then:
        change = phases.change(then, a_job(1, least=1), {"running": 1, "minAvailable": 1})
        assert (change is not None and change.retry) == (then is Then.RESTART)


@pytest.mark.parametrize(
    ("key", "number"),
    [
        ("a", 84696446),
        ("default/test-job", 778950297),
        ("default/train-resnet", 218145743),
        ("ns1/job1", 746338662),
    ],
)
def test_the_hash_that_chooses_the_worker(key: str, number: int) -> None:
    assert fnv1(key) == number
