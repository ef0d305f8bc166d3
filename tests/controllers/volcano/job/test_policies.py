"""Which action an event calls for, and by which rule."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.controllers.volcano.job.rules.policy import match
from longshore.controllers.volcano.job.waking.job_requests import JobRequest


def a_job(*policies: dict[str, Any], task: list[dict[str, Any]] | None = None, version: int = 0) -> Any:
    tasks = [{"name": "w", "replicas": 2, "policies": task or []}]
    return {
        "metadata": {"name": "j", "uid": "u"},
        "spec": {"policies": [*policies], "tasks": tasks},
        "status": {"version": version},
    }


def a_request(event: str, **more: Any) -> JobRequest:
    return JobRequest(event, uid="u", task="w", pod="j-w-0", **more)


def test_the_first_policy_that_names_the_event_decides() -> None:
    job = a_job(
        {"event": "PodEvicted", "action": "AbortJob"},
        {"events": ["PodFailed", "TaskFailed"], "action": "RestartJob"},
        {"event": "PodFailed", "action": "AbortJob"},
    )
    found = match(job, a_request("PodFailed"))
    assert (found.action, found.delay) == ("RestartJob", 0.0)
    assert found.why.words == "PodFailed of j-w-0: policy 1 (event PodFailed) says RestartJob"


def test_a_task_comes_before_the_job() -> None:
    job = a_job(
        {"event": "PodFailed", "action": "AbortJob"}, task=[{"event": "PodFailed", "action": "RestartTask"}]
    )
    assert match(job, a_request("PodFailed")).action == "RestartTask"
    assert match(job, a_request("PodEvicted")).action == "SyncJob"


def test_an_exit_code_must_be_equal() -> None:
    job = a_job({"exitCode": 3, "action": "RestartJob"})
    assert match(job, a_request("PodFailed", exit_code=3)).action == "RestartJob"
    assert match(job, a_request("PodFailed", exit_code=4)).action == "SyncJob"


@pytest.mark.parametrize("event", ["", "OutOfSync", "CommandIssued", "PodRunning"])
def test_a_star_covers_no_internal_event(event: str) -> None:
    assert match(a_job({"event": "*", "action": "RestartJob"}), a_request(event)).action == "SyncJob"


@pytest.mark.parametrize("event", ["PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "TaskFailed"])
def test_a_star_covers_everything_else(event: str) -> None:
    assert match(a_job({"event": "*", "action": "RestartJob"}), a_request(event)).action == "RestartJob"


def test_being_pending_is_an_event_only_with_a_timeout() -> None:
    assert match(a_job({"event": "PodPending", "action": "AbortJob"}), a_request("PodPending")).action == (
        "SyncJob"
    )
    found = match(a_job({"event": "*", "action": "AbortJob", "timeout": "5m"}), a_request("PodPending"))
    assert (found.action, found.delay) == ("AbortJob", 300.0)
    assert "after 5m" in found.why.words


def test_a_timeout_of_nothing_acts_at_once() -> None:
    found = match(
        a_job({"event": "PodPending", "action": "AbortJob", "timeout": "0s"}), a_request("PodPending")
    )
    assert (found.action, found.delay) == ("AbortJob", 0.0)


def test_what_belongs_to_an_earlier_version_or_job_is_only_looked_at() -> None:
    policy = {"event": "PodFailed", "action": "RestartJob"}
    assert match(a_job(policy, version=1), a_request("PodFailed")).action == "SyncJob"
    assert match(a_job(policy, version=1), a_request("PodFailed", version=1)).action == "RestartJob"
    stranger = JobRequest("PodFailed", uid="other", task="w", pod="j-w-0", version=9)
    assert match(a_job(policy), stranger).action == "SyncJob"


def test_an_unknown_group_matters_until_the_first_restart() -> None:
    policy = {"event": "Unknown", "action": "RestartJob"}
    assert match(a_job(policy), JobRequest("Unknown")).action == "RestartJob"
    assert match(a_job(policy, version=1), JobRequest("Unknown")).action == "SyncJob"


def test_a_command_is_taken_as_it_stands() -> None:
    job = a_job({"event": "*", "action": "AbortJob", "timeout": "5m"}, version=7)
    found = match(job, JobRequest("CommandIssued", action="Whatever"))
    assert (found.action, found.delay) == ("Whatever", 0.0)
