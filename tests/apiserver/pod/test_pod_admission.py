"""Priority, tolerations and runtime classes of new pods."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.pod.pod_scene import Pods
from longshore.api.errors import StatusError
from longshore.api.types import Obj


def create(pods: Pods, **spec: Any) -> Obj:
    spec = {"containers": [{"name": "main", "image": "i:1"}], **spec}
    created: Obj = pods.create({"metadata": {"name": "p"}, "spec": spec})["spec"]
    return created


def priority_class(name: str, value: int, **more: Any) -> Obj:
    return {"metadata": {"name": name}, "value": value, "preemptionPolicy": "PreemptLowerPriority", **more}


def test_a_pod_without_class_gets_the_default_one(pods: Pods) -> None:
    pods.classes["usual"] = priority_class("usual", 7, globalDefault=True, preemptionPolicy="Never")
    spec = create(pods)
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("usual", 7, "Never")


def test_of_two_defaults_the_lower_counts(pods: Pods) -> None:
    pods.classes["high"] = priority_class("high", 9, globalDefault=True)
    pods.classes["low"] = priority_class("low", -9, globalDefault=True)
    assert create(pods)["priority"] == -9


def test_a_priority_that_agrees_with_its_class_is_fine(pods: Pods) -> None:
    pods.classes["usual"] = priority_class("usual", 7)
    assert create(pods, priorityClassName="usual", priority=7)["priority"] == 7


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority "
            "admission "
            "controller computed PreemptLowerPriority from the given PriorityClass name",
        ),
        ({"runtimeClassName": "sandbox"}, 'pod rejected: RuntimeClass "sandbox" not found'),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
    ],
)
def test_what_only_a_class_may_decide_is_forbidden(pods: Pods, spec: Obj, why: str) -> None:
    with pytest.raises(StatusError) as caught:
        create(pods, **spec)
    assert (caught.value.code, caught.value.message) == (403, f'pods "p" is forbidden: {why}')


def test_a_toleration_of_everything_is_left_alone(pods: Pods) -> None:
    everything = [{"operator": "Exists"}]
    assert create(pods, tolerations=everything)["tolerations"] == everything


def test_a_replaced_pod_keeps_what_admission_gave_it(pods: Pods) -> None:
    create(pods)
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "i:2"}]}}
    spec = pods.replace(body)["spec"]
    assert spec["priority"] == 0
    assert [t["key"].rpartition("/")[2] for t in spec["tolerations"]] == ["not-ready", "unreachable"]


def runtime_class(**more: Any) -> Obj:
    return {"metadata": {"name": "sandbox"}, "handler": "podman", **more}


def test_an_engine_of_the_node_needs_no_class(pods: Pods) -> None:
    assert create(pods, runtimeClassName="podman")["runtimeClassName"] == "podman"


def test_a_pod_gets_the_overhead_of_its_class(pods: Pods) -> None:
    pods.runtime_classes["sandbox"] = runtime_class(overhead={"podFixed": {"cpu": "10m", "memory": "1Gi"}})
    spec = create(pods, runtimeClassName="sandbox")
    assert spec["overhead"] == {"cpu": "10m", "memory": "1Gi"}
    same = {"cpu": "0.01", "memory": "1024Mi"}
    assert create(pods, runtimeClassName="sandbox", overhead=same)["overhead"] == {
        "cpu": "10m",
        "memory": "1Gi",
    }


def test_another_overhead_than_that_of_the_class_is_forbidden(pods: Pods) -> None:
    pods.runtime_classes["sandbox"] = runtime_class(overhead={"podFixed": {"cpu": "10m"}})
    with pytest.raises(StatusError) as caught:
        create(pods, runtimeClassName="sandbox", overhead={"cpu": "20m"})
    why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    assert caught.value.message == f'pods "p" is forbidden: {why}'


def test_a_pod_goes_where_its_class_says(pods: Pods) -> None:
    tolerated = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    pods.runtime_classes["sandbox"] = runtime_class(
        scheduling={"nodeSelector": {"disk": "ssd"}, "tolerations": [tolerated]}
    )
    own = {"key": "gpu", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
    spec = create(pods, runtimeClassName="sandbox", nodeSelector={"zone": "a"}, tolerations=[own])
    assert spec["nodeSelector"] == {"zone": "a", "disk": "ssd"}
    assert [t["key"].rpartition("/")[2] for t in spec["tolerations"]] == ["not-ready", "unreachable", "gpu"]
    assert spec["tolerations"][-1] == tolerated
    with pytest.raises(StatusError) as caught:
        create(pods, runtimeClassName="sandbox", nodeSelector={"disk": "hdd"})
    why = "conflict: runtimeClass.scheduling.nodeSelector[disk] = ssd; pod.spec.nodeSelector[disk] = hdd"
    assert caught.value.message == f'pods "p" is forbidden: {why}'
