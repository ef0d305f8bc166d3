"""How fast nodes get the taints that make pods leave, decided without an API."""

from __future__ import annotations

from typing import Any

from longshore.api.types import Obj
from longshore.controllers.nodelifecycle.node_taints import NodeLifecyclePlan, NodeLifecycleView, decide

AT = "2026-01-01T00:00:00Z"


def node(name: str, ready: str = "True", zone: str = "", **spec: Any) -> Obj:
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


def look(
    nodes: list[Obj], *, now: float = 1000.0, tainted: dict[str, float] | None = None
) -> NodeLifecyclePlan:
    heard = {each["metadata"]["name"]: now for each in nodes}
    return decide(NodeLifecycleView(nodes, heard, tainted or {}, now, AT))


def leaving(plan: NodeLifecyclePlan) -> list[str]:
    return [each.node["metadata"]["name"] for each in plan.nodes if each.tainted_zone is not None]


def test_a_zone_loses_one_node_in_ten_seconds() -> None:
    nodes = [node("good"), node("good2"), node("bad", "False"), node("worse", "Unknown")]
    first = look(nodes)
    assert leaving(first) == ["bad"]
    assert first.look_again == 10.0
    nodes[2]["spec"] = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]}
    soon = look(nodes, now=1004.0, tainted={"/": 1000.0})
    assert leaving(soon) == []
    assert soon.look_again == 6.0
    assert leaving(look(nodes, now=1010.0, tainted={"/": 1000.0})) == ["worse"]


def test_zones_are_counted_apart() -> None:
    nodes = [node("good", zone="a"), node("bad", "False", zone="a"), node("lost", "False", zone="b")]
    assert leaving(look(nodes)) == ["bad", "lost"]


def test_no_further_node_loses_its_pods_where_most_of_a_small_zone_is_in_trouble() -> None:
    nodes = [node("good"), node("good2"), *(node(f"bad{i}", "False") for i in range(3))]
    plan = look(nodes)
    assert leaving(plan) == []
    assert plan.look_again == 50.0, "only to see whether a node falls silent"
    large = [*(node(f"good{i}") for i in range(20)), *(node(f"bad{i}", "False") for i in range(40))]
    assert leaving(look(large)) == ["bad0"]
    assert leaving(look(large, now=1050.0, tainted={"/": 1000.0})) == []
    assert leaving(look(large, now=1100.0, tainted={"/": 1000.0})) == ["bad0"]


def test_a_node_that_goes_from_unknown_to_not_ready_swaps_its_taint_at_once() -> None:
    was = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": AT}]
    (plan,) = look([node("good"), node("bad", "False", taints=was)], tainted={"/": 1000.0}).nodes
    assert plan.taints is not None
    assert [(taint["key"], taint["effect"]) for taint in plan.taints] == [
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/not-ready", "NoSchedule"),
    ]


def test_a_taint_that_somebody_took_off_a_node_without_conditions_is_not_put_back() -> None:
    bare = {"metadata": {"name": "bare"}, "spec": {}, "status": {}}
    assert look([bare]).nodes == ()
