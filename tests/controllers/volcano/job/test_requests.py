"""What a change of a pod asks of its Job."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.facts import kinds
from longshore.controllers.volcano.job.waking import job_requests
from longshore.controllers.volcano.names import OUT_OF_SYNC_MARK

TASK = {"name": "w", "replicas": 2, "maxRetry": 3}


def a_pod(phase: str, *, restarts: int = 0, code: int | None = None, mark: bool = False, n: int = 0) -> Any:
    state: dict[str, Any] = {}
    if code is not None:
        state = {"terminated": {"exitCode": code, "finishedAt": "2026-01-01T00:01:00Z"}}
    notes = {"volcano.sh/job-name": "j", "volcano.sh/task-spec": "w", "volcano.sh/job-version": "4"}
    if mark:
        notes[OUT_OF_SYNC_MARK] = "true"
    owner = {
        "apiVersion": kinds.VOLCANO_JOBS[0],
        "kind": kinds.VOLCANO_JOBS[1],
        "name": "j",
        "uid": "u",
        "controller": True,
    }
    meta = {"name": f"j-w-{n}", "uid": f"p{n}", "annotations": notes, "ownerReferences": [owner]}
    meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
    containers = [{"name": "main", "restartCount": restarts, "state": state}]
    return {"metadata": meta, "status": {"phase": phase, "containerStatuses": containers}}


def events(old: Any, new: Any, *others: Any) -> list[str]:
    mine = job_requests.pod_of(new)
    assert mine is not None
    return [r.event for r in job_requests.of_change(old, new, mine, lambda name: (TASK, [new, *others]))]


@pytest.mark.parametrize(
    ("before", "after", "event"),
    [
        ("Pending", "Running", "PodRunning"),
        ("Running", "Failed", "PodFailed"),
        ("Pending", "Failed", "PodFailed"),
        ("Running", "Succeeded", "OutOfSync"),
        ("Running", "Running", "OutOfSync"),
        ("Running", "Pending", "PodPending"),
        ("Running", "Unknown", "OutOfSync"),
        ("Failed", "Failed", "OutOfSync"),
    ],
)
def test_a_phase_that_changes_is_an_event(before: str, after: str, event: str) -> None:
    assert events(a_pod(before), a_pod(after)) == [event]


def test_a_task_is_completed_when_all_its_pods_succeeded() -> None:
    done = a_pod("Succeeded", code=0, n=1)
    assert events(a_pod("Running"), a_pod("Succeeded", code=0), done) == ["TaskCompleted"]


def test_a_task_has_failed_when_its_pods_restarted_too_often_in_all() -> None:
    other = a_pod("Running", restarts=1, n=1)
    assert events(a_pod("Running"), a_pod("Running", restarts=2), other) == ["TaskFailed"]
    assert events(a_pod("Running"), a_pod("Running", restarts=1), other) == ["OutOfSync"]
    assert events(a_pod("Pending"), a_pod("Running", restarts=2), other) == ["PodRunning"]


def test_what_the_controller_removes_itself_is_no_news() -> None:
    assert events(a_pod("Running"), a_pod("Failed", mark=True)) == ["OutOfSync"]
    marked, mine = a_pod("Running", mark=True), job_requests.pod_of(a_pod("Running"))
    assert mine is not None
    assert job_requests.of_deletion(marked, mine).event == "OutOfSync"
    assert job_requests.of_deletion(a_pod("Running"), mine).event == "PodEvicted"


def test_a_failure_comes_with_its_exit_code_and_its_time() -> None:
    pod = a_pod("Failed", code=3)
    mine = job_requests.pod_of(pod)
    assert mine is not None
    (found,) = job_requests.of_change(a_pod("Running"), pod, mine, lambda name: (TASK, [pod]))
    assert (found.exit_code, found.version, found.uid, found.task) == (3, 4, "u", "w")
    assert found.since == 1767225660.0


@pytest.mark.parametrize("missing", ["volcano.sh/job-name", "volcano.sh/task-spec", "volcano.sh/job-version"])
def test_a_pod_without_its_annotations_belongs_to_nobody(missing: str) -> None:
    pod = a_pod("Running")
    del pod["metadata"]["annotations"][missing]
    assert job_requests.pod_of(pod) is None


def test_a_group_says_only_that_it_is_unknown() -> None:
    assert job_requests.of_group({"status": {"phase": "Unknown"}}).event == "Unknown"
    assert job_requests.of_group({"status": {"phase": "Running"}}).event == ""
