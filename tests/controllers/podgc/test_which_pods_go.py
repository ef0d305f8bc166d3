"""Which pods are removed, decided from pods and nodes alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from longshore.api.types import Obj
from longshore.controllers.podgc.controller import Quarantine, failed
from longshore.controllers.podgc.decide import Cause, PodGcView, decide, ended, lost
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock

NOW = "2026-01-01T00:00:00Z"


def pod(name: str, phase: str = "Running", *, node: str = "", deleting: bool = False, **changes: Any) -> Obj:
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": name,
        "creationTimestamp": changes.pop("created", NOW),
        **({"deletionTimestamp": NOW} if deleting else {}),
        **changes.pop("meta", {}),
    }
    return {
        "metadata": meta,
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, **changes},
    }


def node(name: str, *, ready: bool = True, tainted: bool = False) -> Obj:
    taints = [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}] if tainted else []
    return {
        "metadata": {"name": name},
        "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}]},
    }


def removed(**view: Any) -> list[tuple[str, Cause]]:
    whole = PodGcView(**{"ended": (), "deleting": (), "on_lost_nodes": (), "nodes": {}, **view})
    return [(removal.pod["metadata"]["name"], removal.cause) for removal in decide(whole).removals]


def test_of_too_many_ended_pods_the_evicted_and_the_oldest_go() -> None:
    pods = [
        pod("young", "Failed", created="2026-01-03T00:00:00Z"),
        pod("old", "Succeeded", created="2026-01-01T00:00:00Z"),
        pod("evicted", "Failed", created="2026-01-04T00:00:00Z", reason="Evicted"),
    ]
    assert removed(ended=pods, threshold=1) == [("evicted", Cause.TERMINATED), ("old", Cause.TERMINATED)]


def test_pods_of_one_age_go_by_name() -> None:
    pods = [pod(name, "Failed") for name in ("b", "c", "a")]
    assert [name for name, _ in removed(ended=pods, threshold=1)] == ["a", "b"]


@pytest.mark.parametrize("threshold", [0, 3, 12500])
def test_as_many_as_may_be_kept_are_kept(threshold: int) -> None:
    assert removed(ended=[pod(name, "Failed") for name in "abc"], threshold=threshold) == []


@pytest.mark.parametrize(
    ("phase", "over"),
    [("Pending", False), ("Running", False), ("Unknown", False), ("Succeeded", True), ("Failed", True)],
)
def test_pods_have_ended_unless_they_may_still_run(phase: str, over: bool) -> None:
    assert ended(pod("p", phase)) is over


def test_pods_being_deleted_go_from_nodes_that_are_out_of_service() -> None:
    nodes = {
        "off": node("off", ready=False, tainted=True),
        "ready": node("ready", tainted=True),
        "untainted": node("untainted", ready=False),
    }
    pods = [pod(name, node=name, deleting=True) for name in nodes]
    assert removed(deleting=pods, nodes=nodes) == [("off", Cause.OUT_OF_SERVICE)]


def test_pods_being_deleted_that_were_never_assigned_go() -> None:
    pods = [pod("unassigned", deleting=True), pod("assigned", node="n", deleting=True)]
    assert removed(deleting=pods, nodes={"n": node("n")}) == [("unassigned", Cause.UNSCHEDULED)]


def test_pods_of_lost_nodes_go_each_once() -> None:
    lonely = pod("p", node="gone", deleting=True)
    assert removed(deleting=[lonely], on_lost_nodes=[lonely]) == [("p", Cause.ORPHANED)]


def test_lost_nodes_are_those_that_pods_name_and_nobody_has() -> None:
    assert lost(["a", "b", "c"], {"b": node("b")}) == {"a", "c"}


def test_a_pod_of_a_lost_node_fails_with_the_reason_said() -> None:
    orphan = pod("p", node="gone", meta={"generation": 3})
    assert failed(orphan, Cause.ORPHANED, NOW) == {
        "metadata": {"uid": "p"},
        "status": {
            "phase": "Failed",
            "observedGeneration": 3,
            "conditions": [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "observedGeneration": 3,
                    "lastTransitionTime": NOW,
                    "reason": "DeletionByPodGC",
                    "message": "PodGC: node no longer exists",
                }
            ],
        },
    }


def test_a_pod_that_was_disrupted_before_keeps_the_time_of_it() -> None:
    before = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2025-12-31T00:00:00Z"}
    patch = failed(pod("p", conditions=[before]), Cause.ORPHANED, NOW)
    assert patch is not None
    assert patch["status"]["conditions"][0]["lastTransitionTime"] == "2025-12-31T00:00:00Z"


def test_other_pods_fail_without_a_condition() -> None:
    for cause in (Cause.OUT_OF_SERVICE, Cause.UNSCHEDULED):
        assert failed(pod("p"), cause, NOW) == {"metadata": {"uid": "p"}, "status": {"phase": "Failed"}}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_ended_keep_their_phase(phase: str) -> None:
    assert failed(pod("p", phase), Cause.ORPHANED, NOW) is None


def test_a_node_must_be_missing_for_a_while_before_it_counts() -> None:
    async def script(clock: VirtualClock) -> list[list[str]]:
        quarantine, told = Quarantine(clock), []
        for missing in (("a",), ("a", "b"), ("a", "b"), ("b",), ("b",)):
            told.append(quarantine.missing(missing))
            await clock.sleep(20)
        return told

    assert virtual.run(script) == [[], [], ["a"], ["b"], []]


def test_a_node_that_shows_itself_begins_anew() -> None:
    async def script(clock: VirtualClock) -> list[list[str]]:
        quarantine, told = Quarantine(clock), []
        for missing in (("a",), (), ("a",), ("a",), ("a",)):
            told.append(quarantine.missing(missing))
            await clock.sleep(20)
        return told

    assert virtual.run(script) == [[], [], [], [], ["a"]]


def test_a_plan_says_for_each_cause_how_many_pods_go() -> None:
    lonely = [pod(name, deleting=True) for name in "ab"]
    plan = decide(PodGcView(ended=(), deleting=lonely, on_lost_nodes=[pod("c", node="n")], nodes={}))
    assert [(why.code, why.numbers) for why in plan.why] == [
        ("NodeGone", {"pods": 1}),
        ("DeletedUnscheduled", {"pods": 2}),
    ]
    assert plan.look_again == 20.0


def test_a_saved_view_gives_the_same_plan() -> None:
    gone = node("off", ready=False, tainted=True)
    seen = PodGcView(
        [pod("e", "Failed"), pod("f", "Failed")],
        [pod("d", node="off", deleting=True)],
        [pod("l", node="lost")],
        {"off": gone},
        threshold=1,
    )
    loaded = msgspec.json.decode(msgspec.json.encode(seen), type=PodGcView)
    assert loaded == seen
    assert decide(loaded) == decide(seen)


def test_a_sweep_of_one_job_costs_no_other_job_its_failed_or_its_last_pod() -> None:
    def of(job: str, name: str, phase: str, day: int) -> Obj:
        owner = {"kind": "Job", "name": job, "uid": job, "controller": True}
        return pod(name, phase, created=f"2026-01-0{day}T00:00:00Z", meta={"ownerReferences": [owner]})

    pods = [
        of("old-failure", "failed-first", "Failed", 1),
        of("old-failure", "failed-last", "Failed", 2),
        of("old-success", "only", "Succeeded", 1),
        *(of("sweep", f"sweep-{number}", "Succeeded", 5) for number in range(5)),
        *(of("sweep", f"swept-{number}", "Failed", 4) for number in range(2)),
    ]
    order = [name for name, _ in removed(ended=pods, threshold=1)]
    assert order[:4] == ["sweep-0", "sweep-1", "sweep-2", "sweep-3"], "what succeeded, but for the last one"
    assert order[4:7] == ["failed-first", "swept-0", "swept-1"], "then what failed"
    assert order[7:] == ["only", "sweep-4"], "then the last of each Job that succeeded"
