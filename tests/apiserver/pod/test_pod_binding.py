"""Binding and eviction, beyond the recorded exchanges."""

from __future__ import annotations

from apiserver.pod.pod_scene import NOW, Pods
from longshore.api.kinds.pod_binding import evicted
from longshore.api.types import Obj, copy_of

SPEC: Obj = {"containers": [{"name": "main", "image": "i:1"}]}
BINDING: Obj = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}


def test_a_promised_node_is_forgotten_and_the_gate_condition_replaced(pods: Pods) -> None:
    pods.create({"metadata": {"name": "p"}, "spec": {**SPEC, "schedulingGates": [{"name": "a"}]}})
    pods.patch("p", {"spec": {"schedulingGates": None}})
    pods.patch("p", {"status": {"nominatedNodeName": "n2"}}, "status")
    before = copy_of(pods.stored["p"])
    bound = pods.bind("p", BINDING)
    assert bound["spec"]["nodeName"] == "n1"
    assert "nominatedNodeName" not in bound["status"]
    assert bound["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": NOW}
    ]
    assert bound["metadata"]["generation"] == before["metadata"]["generation"]


def test_annotations_of_a_binding_win_over_the_pods_own(pods: Pods) -> None:
    pods.create({"metadata": {"name": "p", "annotations": {"a": "1", "b": "1"}}, "spec": SPEC})
    binding = {**BINDING, "metadata": {"name": "p", "annotations": {"b": "2"}}}
    assert pods.bind("p", binding)["metadata"]["annotations"] == {"a": "1", "b": "2"}


def test_a_second_eviction_keeps_the_time_of_the_first(pods: Pods) -> None:
    pod = pods.create({"metadata": {"name": "p"}, "spec": SPEC})
    first = evicted(pod, now="2026-01-01T00:00:00Z")
    second = evicted(first, now="2026-01-02T00:00:00Z")
    assert second == first
    assert "conditions" not in pod["status"]
