"""What may change about a pod that exists, beyond what the recordings show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.pod.pod_scene import Pods
from longshore.api.errors import StatusError
from longshore.api.types import Obj, copy_of

Change = Callable[[Obj, Obj], list[str]]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GATED = {"schedulingGates": [{"name": "a"}, {"name": "b"}]}


def node_affinity(*terms: Obj) -> Obj:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def term(*keys: str) -> Obj:
    return {"matchExpressions": [{"key": k, "operator": "Exists"} for k in keys]}


def test_gates_may_go_but_not_come(update_problems: Change) -> None:
    assert update_problems(GATED, {"schedulingGates": [{"name": "b"}]}) == []
    assert update_problems(GATED, {"schedulingGates": [{"name": "a"}, {"name": "c"}]}) == [
        "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'"
    ]


def test_a_gated_pod_may_narrow_its_nodes(update_problems: Change) -> None:
    assert update_problems(GATED, {"nodeSelector": {"a": "b"}}) == []
    assert update_problems(GATED, node_affinity(term("a"))) == []
    assert update_problems({**GATED, **node_affinity(term("a"))}, node_affinity(term("a", "b"))) == []


def test_a_gated_pod_may_not_widen_its_nodes(update_problems: Change) -> None:
    assert update_problems({**GATED, "nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "c", "x": "y"}}) == [
        'spec.nodeSelector: Invalid value: {"a":"c","x":"y"}: only additions to spec.nodeSelector are '
        "allowed "
        "(no mutations or deletions)"
    ]
    terms = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    [problem] = update_problems({**GATED, **node_affinity(term("a"))}, node_affinity(term("b")))
    assert problem.startswith(
        f'{terms}[0]: Invalid value: {{"MatchExpressions":[{{"Key":"b","Operator":"Exists"'
    )
    assert problem.endswith("only additions are allowed (no mutations or deletions)")
    [problem] = update_problems({**GATED, **node_affinity(term("a"))}, node_affinity(term("a"), term("b")))
    assert problem.startswith(f"{terms}: Invalid value: [")
    assert problem.endswith("no additions/deletions to non-empty NodeSelectorTerms list are allowed")


def test_a_pod_without_gates_keeps_its_node_selector(update_problems: Change) -> None:
    [problem] = update_problems({}, {"nodeSelector": {"a": "b"}})
    assert problem.startswith(
        "spec: Forbidden: pod updates may not change fields other than `spec.containers"
    )
    assert "\n@@ -" in problem


def test_toleration_seconds_may_change(update_problems: Change) -> None:
    toleration = {"key": "a", "operator": "Exists", "effect": "NoExecute"}
    assert (
        update_problems(
            {"tolerations": [toleration]}, {"tolerations": [{**toleration, "tolerationSeconds": 5}]}
        )
        == []
    )


def test_the_same_amount_in_other_words_is_no_change(update_problems: Change) -> None:
    def sized(memory: str) -> Obj:
        return {"containers": [{"name": "main", "image": "i:1", "resources": {"limits": {"memory": memory}}}]}

    assert update_problems(sized("1Gi"), sized("1073741824")) == []


def test_marks_of_mirror_pods_stay(pods: Pods) -> None:
    pods.create({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "i:1"}]}})
    with pytest.raises(StatusError) as caught:
        pods.patch("p", {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}})
    texts = [c["message"] for c in (caught.value.details or {})["causes"]]
    assert "Forbidden: may not add mirror pod annotation" in texts
    assert 'Invalid value: "x": must set spec.nodeName if mirror pod annotation is set' in texts


@pytest.fixture
def running(pods: Pods) -> Pods:
    resources = {"requests": {"cpu": "100m"}}
    spec = {"nodeName": "n", "containers": [{"name": "main", "image": "i:1", "resources": resources}]}
    pods.create({"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": spec})
    return pods


def subresource(pods: Pods, name: str, change: Callable[[Obj], Any]) -> Obj | list[str]:
    """The pod after a PUT to a subresource, or what was wrong with it."""
    body = copy_of(pods.stored["p"])
    change(body)
    try:
        return pods.replace(body, name)
    except StatusError as error:
        return [f"{c['field']}: {c['message']}" for c in (error.details or {})["causes"]]


def test_debug_containers_are_added_and_nothing_else_changes(running: Pods) -> None:
    def change(pod: Obj) -> None:
        pod["spec"]["ephemeralContainers"] = [
            {"name": "debug", "image": "tools:1", "targetContainerName": "main"}
        ]
        pod["spec"]["containers"][0]["image"] = "other:1"
        pod["metadata"]["labels"] = {"x": "y"}

    pod = subresource(running, "ephemeralcontainers", change)
    assert isinstance(pod, dict)
    assert pod["spec"]["ephemeralContainers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert pod["spec"]["containers"][0]["image"] == "i:1"
    assert pod["metadata"]["labels"] == {"a": "b"}
    assert pod["metadata"]["generation"] == 2


def test_debug_containers_may_not_be_part_of_the_workload(running: Pods) -> None:
    def change(pod: Obj) -> None:
        pod["spec"]["ephemeralContainers"] = [
            {"name": "main", "image": "t", "ports": [{"containerPort": 1}], "targetContainerName": "who"}
        ]

    path = "spec.ephemeralContainers[0]"
    assert subresource(running, "ephemeralcontainers", change) == [
        f'{path}.name: Duplicate value: "main"',
        f'{path}.targetContainerName: Not found: "who"',
        f"{path}.ports: Forbidden: cannot be set for an Ephemeral Container",
    ]


def test_debug_containers_stay(running: Pods) -> None:
    def add(pod: Obj) -> None:
        pod["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "tools:1"}]

    def remove(pod: Obj) -> None:
        del pod["spec"]["ephemeralContainers"]

    subresource(running, "ephemeralcontainers", add)
    assert subresource(running, "ephemeralcontainers", remove) == [
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed\n'
    ]


def test_a_resize_changes_cpu_and_memory(running: Pods) -> None:
    def change(pod: Obj) -> None:
        pod["spec"]["containers"][0] |= {"image": "other:1", "resources": {"requests": {"cpu": "200m"}}}

    pod = subresource(running, "resize", change)
    assert isinstance(pod, dict)
    [container] = pod["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "200m"}}
    assert container["image"] == "i:1"


@pytest.mark.parametrize(
    ("resources", "wanted"),
    [
        (
            {"limits": {"cpu": "1", "memory": "1Gi"}},
            ['spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'],
        ),
        (
            {"requests": {"memory": "1Gi"}},
            ["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"],
        ),
        (
            {"requests": {"cpu": "100m", "ephemeral-storage": "1"}},
            ["spec: Forbidden: only cpu and memory resources are mutable"],
        ),
    ],
)
def test_a_resize_has_bounds(running: Pods, resources: Obj, wanted: list[str]) -> None:
    def change(pod: Obj) -> None:
        pod["spec"]["containers"][0]["resources"] = resources

    assert subresource(running, "resize", change) == wanted
