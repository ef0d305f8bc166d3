"""The one word for how a pod is doing, and how often it was restarted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from longshore.api.kinds import table as kinds
from longshore.apiserver import tables

NOW = datetime(2025, 6, 1, 12, 0, 0, tzinfo=UTC)
PODS = next(r for r in kinds.RESOURCES if r.qualified == "pods")

RUNNING = {"running": {"startedAt": "2025-06-01T11:00:00Z"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def waiting(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason}}


def container(
    state: dict[str, Any], *, ready: bool = False, restarts: int = 0, **more: Any
) -> dict[str, Any]:
    return {"name": "c", "state": state, "ready": ready, "restartCount": restarts, **more}


def cells(spec: dict[str, Any], status: dict[str, Any], **metadata: Any) -> list[Any]:
    spec = {"containers": [{"name": "c"}], **spec}
    pod = {"metadata": {"name": "p", **metadata}, "spec": spec, "status": status}
    (row,) = tables.rows(PODS, [pod], "None", NOW)
    return list(row["cells"])


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        (
            {"phase": "Pending", "containerStatuses": [container(waiting("ContainerCreating"))]},
            "ContainerCreating",
        ),
        ({"phase": "Running", "containerStatuses": [container({"waiting": {}})]}, "Running"),
        (
            {
                "phase": "Failed",
                "containerStatuses": [container({"terminated": {"exitCode": 1, "reason": "OOMKilled"}})],
            },
            "OOMKilled",
        ),
        (
            {
                "phase": "Failed",
                "containerStatuses": [container({"terminated": {"exitCode": 137, "signal": 9}})],
            },
            "Signal:9",
        ),
        (
            {"phase": "Failed", "containerStatuses": [container({"terminated": {"exitCode": 3}})]},
            "ExitCode:3",
        ),
    ],
)
def test_containers_overrule_the_phase(status: dict[str, Any], word: str) -> None:
    assert cells({}, status)[2] == word


def test_the_first_container_has_the_last_word() -> None:
    statuses = [
        container(waiting("CrashLoopBackOff")),
        container({"terminated": {"exitCode": 1, "reason": "Error"}}),
    ]
    assert cells({}, {"phase": "Running", "containerStatuses": statuses})[2] == "CrashLoopBackOff"


@pytest.mark.parametrize(("ready", "word"), [("True", "Running"), ("False", "NotReady")])
def test_a_pod_with_one_container_done_and_one_running_is_running_if_ready(ready: str, word: str) -> None:
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": ready}],
        "containerStatuses": [container(DONE), container(RUNNING, ready=True)],
    }
    assert cells({"containers": [{"name": "c"}, {"name": "d"}]}, status)[1:3] == ["1/2", word]


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (RUNNING, "Init:0/2"),
        (waiting("PodInitializing"), "Init:0/2"),
        (waiting("ImagePullBackOff"), "Init:ImagePullBackOff"),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "Init:Error"),
        ({"terminated": {"exitCode": 1, "signal": 15}}, "Init:Signal:15"),
        ({"terminated": {"exitCode": 4}}, "Init:ExitCode:4"),
    ],
)
def test_an_init_container_that_is_not_through_is_shown(state: dict[str, Any], word: str) -> None:
    spec = {"initContainers": [{"name": "a"}, {"name": "b"}]}
    status = {
        "phase": "Pending",
        "initContainerStatuses": [container(state)],
        "containerStatuses": [container(waiting("PodInitializing"))],
    }
    assert cells(spec, status)[2] == word


def test_finished_init_containers_are_passed_over() -> None:
    spec = {"initContainers": [{"name": "a"}, {"name": "b"}]}
    status = {
        "phase": "Pending",
        "initContainerStatuses": [container(DONE), container(waiting("PodInitializing"))],
    }
    assert cells(spec, status)[2] == "Init:1/2"


def test_a_started_sidecar_counts_among_the_containers() -> None:
    spec = {"initContainers": [{"name": "s", "restartPolicy": "Always"}]}
    sidecar = {"name": "s", "state": RUNNING, "ready": True, "started": True, "restartCount": 2}
    status = {
        "phase": "Running",
        "initContainerStatuses": [sidecar],
        "containerStatuses": [container(RUNNING, ready=True, restarts=1)],
    }
    assert cells(spec, status)[1:4] == ["2/2", "Running", "3"]


def test_a_sidecar_that_has_not_started_holds_the_pod_up() -> None:
    spec = {"initContainers": [{"name": "s", "restartPolicy": "Always"}]}
    status = {
        "phase": "Pending",
        "initContainerStatuses": [{"name": "s", "state": RUNNING, "started": False}],
    }
    assert cells(spec, status)[1:3] == ["0/2", "Init:0/1"]


def test_once_initialized_the_containers_speak_although_an_init_container_failed_since() -> None:
    spec = {"initContainers": [{"name": "a"}]}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Initialized", "status": "True"}],
        "initContainerStatuses": [container({"terminated": {"exitCode": 1, "reason": "Error"}}, restarts=9)],
        "containerStatuses": [container(waiting("CrashLoopBackOff"), restarts=2)],
    }
    assert cells(spec, status)[2:4] == ["CrashLoopBackOff", "2"]


def test_restarts_say_when_the_last_one_was() -> None:
    last = {"terminated": {"exitCode": 1, "finishedAt": "2025-06-01T11:55:00Z"}}
    earlier = {"terminated": {"exitCode": 1, "finishedAt": "2025-06-01T11:00:00Z"}}
    statuses = [
        container(RUNNING, ready=True, restarts=3, lastState=last),
        container(RUNNING, ready=True, restarts=1, lastState=earlier),
    ]
    assert cells({}, {"phase": "Running", "containerStatuses": statuses})[3] == "4 (5m ago)"


def test_restarts_of_init_containers_count_only_while_they_run() -> None:
    spec = {"initContainers": [{"name": "a"}]}
    stuck = {
        "phase": "Pending",
        "initContainerStatuses": [container(waiting("CrashLoopBackOff"), restarts=4)],
    }
    through = {"phase": "Running", "initContainerStatuses": [container(DONE, restarts=4)]}
    assert (cells(spec, stuck)[3], cells(spec, through)[3]) == ("4", "0")


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
        ({"phase": "Succeeded", "containerStatuses": [container(DONE)]}, "Completed"),
    ],
)
def test_deletion_is_shown_unless_the_pod_has_ended(status: dict[str, Any], word: str) -> None:
    assert cells({}, status, deletionTimestamp="2025-06-01T11:59:00Z")[2] == word


def test_a_gated_pod_says_so() -> None:
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
    assert cells({}, {"phase": "Pending", "conditions": conditions})[2] == "SchedulingGated"


def test_wide_columns_say_none_where_there_is_nothing() -> None:
    assert cells({}, {"phase": "Pending"})[5:] == ["<none>"] * 4


def test_readiness_gates_are_counted() -> None:
    spec = {"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]}
    assert cells(spec, {"conditions": [{"type": "a", "status": "True"}]})[8] == "1/2"
