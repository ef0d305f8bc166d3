"""The pods a Job creates, and which of them goes first."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_scene import a_job, a_pod, at, indexed, sync
from longshore.api.facts.pod_state import COMPLETION_INDEX
from longshore.controllers.job.pods import removal_order
from longshore.controllers.job.pods.roll import Roll
from longshore.controllers.job.spec import FINALIZER

OWNER = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "name": "j",
    "uid": "job-uid",
    "controller": True,
    "blockOwnerDeletion": True,
}


def test_a_pod_is_the_template_with_finalizer_and_owner() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.org/mine"]},
        "spec": {"containers": [{"name": "main"}], "hostname": "h"},
    }
    (pod,) = sync(a_job(template=template)).created
    assert pod == {
        "metadata": {
            "generateName": "j-",
            "labels": {"a": "b"},
            "annotations": {"c": "d"},
            "finalizers": ["example.org/mine", FINALIZER],
            "ownerReferences": [OWNER],
        },
        "spec": template["spec"],
    }


def test_a_pod_of_an_index_knows_it_by_name_label_annotation_host_and_environment() -> None:
    template: Any = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "initContainers": [{"name": "init"}],
            "containers": [
                {"name": "main", "env": [{"name": "X", "value": "1"}]},
                {"name": "own", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]},
            ],
            "hostname": "h",
        },
    }
    pod = sync(indexed(2, 2, template=template)).created[1]
    assert pod["metadata"]["generateName"] == "j-1-"
    assert pod["metadata"]["labels"] == {"a": "b", COMPLETION_INDEX: "1"}
    assert pod["metadata"]["annotations"] == {COMPLETION_INDEX: "1"}
    assert pod["spec"]["hostname"] == "j-1"
    told = {
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {
            "fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}
        },
    }
    assert pod["spec"]["initContainers"][0]["env"] == [told]
    assert pod["spec"]["containers"][0]["env"] == [{"name": "X", "value": "1"}, told]
    assert pod["spec"]["containers"][1]["env"] == [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]
    assert template["spec"]["containers"][0]["env"] == [{"name": "X", "value": "1"}]


def test_a_long_name_is_cut_so_that_the_index_fits() -> None:
    pod = sync(indexed(12, 12, name="n" * 61)).created[11]
    assert pod["metadata"]["generateName"] == "n" * 54 + "-11-"
    assert pod["spec"]["hostname"] == "n" * 61 + "-11"


def _ready_since(name: str, offset: float | None, **more: Any) -> Any:
    pod = a_pod(name, ready=True, **more)
    if offset is None:
        del pod["status"]["conditions"][0]["lastTransitionTime"]
    else:
        pod["status"]["conditions"][0]["lastTransitionTime"] = at(offset)
    return pod


def _sidecar_restarts(name: str, times: int) -> Any:
    pod = a_pod(name)
    pod["spec"]["initContainers"] = [{"name": "side", "restartPolicy": "Always"}, {"name": "init"}]
    pod["status"]["initContainerStatuses"] = [
        {"name": "side", "restartCount": times},
        {"name": "init", "restartCount": 99},
    ]
    return pod


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        (a_pod("x", node=""), a_pod("y", "Pending")),
        (a_pod("x", "Pending"), a_pod("y", "Unknown")),
        (a_pod("x", "Unknown"), a_pod("y", "Running")),
        (a_pod("x"), a_pod("y", ready=True)),
        (_ready_since("x", -10), _ready_since("y", -90)),
        (_ready_since("x", None), _ready_since("y", -10)),
        (a_pod("x", restarts=3), a_pod("y", restarts=2)),
        (_sidecar_restarts("x", 2), _sidecar_restarts("y", 1)),
        (a_pod("x", created=-10), a_pod("y", created=-90)),
        (_ready_since("x", -10, created=-500), _ready_since("y", -90, created=-20)),
    ],
)
def test_the_pod_with_the_least_to_lose_goes(goes: Any, stays: Any) -> None:
    for order in ([goes, stays], [stays, goes]):
        assert removal_order.surplus(Roll.of(order), 1) == [goes]


def test_misplaced_pods_go_before_any_rank_is_looked_at() -> None:
    pods = [
        a_pod("fresh", "Pending", node="", index=0),
        a_pod("beyond", ready=True, index=5),
        a_pod("old", ready=True, index=1),
    ]
    assert removal_order.surplus_of_indexes(Roll.of(pods), 1, 5) == [pods[1]]
    assert removal_order.surplus_of_indexes(Roll.of(pods), 2, 5) == [pods[1], pods[0]]
