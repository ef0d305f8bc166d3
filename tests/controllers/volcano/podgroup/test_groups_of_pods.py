"""Pods of Volcano's scheduler that bring no PodGroup get one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from longshore.api.types import Obj
from longshore.client import What
from longshore.controllers.volcano import podgroup
from longshore.controllers.volcano.podgroup.controller import act
from longshore.controllers.volcano.podgroup.decide import Ask, PodGroupPlan, PodGroupView, decide
from longshore.controllers.volcano.podgroup.wanted import GROUP, wanted
from support.volcano_scene import POD_GROUPS, Scene, play

PODS = ("v1", "Pod")


def pod(name: str, scheduler: str = "volcano", **meta: Any) -> Obj:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "metadata": {"name": name, **meta},
        "spec": {"schedulerName": scheduler, "containers": [container]},
    }


def owned(kind: str, **annotations: str) -> tuple[Obj, list[Obj]]:
    """A pod of a workload, and that workload."""
    ref = {"apiVersion": "apps/v1", "kind": kind, "name": "w", "uid": "u1", "controller": True}
    owner = {"metadata": {"name": "w", "uid": "u1", "annotations": annotations}}
    return {**pod("p", namespace="n", uid="p1", ownerReferences=[ref])}, [owner]


@pytest.mark.parametrize("kept_whole", [(), (PODS,)])
def test_a_bare_pod_gets_a_group_of_its_own(kept_whole: tuple[What, ...]) -> None:
    async def script(scene: Scene) -> None:
        marks = {
            "volcano.sh/preemptable": "true",
            "volcano.sh/cooldown-time": "5m",
            "volcano.sh/jdb-min-available": "1",
            "other": "z",
        }
        made = await scene.client.create(PODS, pod("a", annotations=marks), "default")
        await scene.client.create(PODS, pod("foreign", "somebody-else"), "default")
        await scene.settle()
        uid = made["metadata"]["uid"]
        (group,) = (await scene.client.list(POD_GROUPS)).items
        assert group["metadata"]["name"] == f"podgroup-{uid}"
        assert group["spec"] == {
            "minMember": 1,
            "queue": "default",
            "minResources": {"pods": "1", "count/pods": "1", "cpu": "100m", "requests.cpu": "100m"},
        }
        del marks["other"]
        assert (group["metadata"]["annotations"], group["status"]) == (marks, {"phase": "Pending"})
        assert group["metadata"]["ownerReferences"] == [
            {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": uid, "controller": True,
             "blockOwnerDeletion": True},
        ]  # fmt: skip
        told = await scene.client.get(PODS, "a", "default")
        assert told["metadata"]["annotations"][GROUP] == f"podgroup-{uid}"
        foreign = await scene.client.get(PODS, "foreign", "default")
        assert GROUP not in (foreign["metadata"].get("annotations") or {})

    play(script, podgroup.run, kept_whole=kept_whole)


@pytest.mark.parametrize("kept_whole", [(), (PODS,)])
def test_pods_of_one_owner_share_a_group_and_those_with_one_are_left_alone(
    kept_whole: tuple[What, ...],
) -> None:
    async def script(scene: Scene) -> None:
        ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u9", "controller": True}
        for name in ("a", "b"):
            await scene.client.create(PODS, pod(name, ownerReferences=[ref]), "default")
        await scene.client.create(PODS, pod("c", annotations={GROUP: "mine"}), "default")
        await scene.settle()
        groups = (await scene.client.list(POD_GROUPS)).items
        assert [group["metadata"]["name"] for group in groups] == ["podgroup-u9"]
        assert groups[0]["metadata"]["ownerReferences"] == [ref]

    play(script, podgroup.run, kept_whole=kept_whole)


def test_a_pod_whose_queue_is_missing_waits_for_it() -> None:
    async def script(scene: Scene) -> None:
        late = {"scheduling.volcano.sh/queue-name": "late"}
        await scene.client.create(PODS, pod("a", annotations=late), "default")
        await scene.settle()
        assert not (await scene.client.list(POD_GROUPS)).items
        await scene.queue("late")
        await scene.client.patch(
            ("scheduling.volcano.sh/v1beta1", "Queue"), "late", {"status": {"state": "Open"}},
            subresource="status",
        )  # fmt: skip
        await scene.settle(60)
        (group,) = (await scene.client.list(POD_GROUPS)).items
        assert group["spec"]["queue"] == "late"

    play(script, podgroup.run)


def test_an_owner_says_how_many_start_together_and_passes_its_annotations_on() -> None:
    group = wanted(
        *owned(
            "ReplicaSet",
            **{
                "scheduling.volcano.sh/group-min-member": "3",
                "volcano.sh/sla-waiting-time": "3s",
                "volcano.sh/network-topology-mode": "odd",
                "volcano.sh/network-topology-highest-tier": "2",
                "other": "x",
            },
        )
    )
    assert (group["spec"]["minMember"], group["spec"]["minResources"]["cpu"]) == (3, "300m")
    assert group["spec"]["networkTopology"] == {"mode": "hard", "highestTierAllowed": 2}
    assert "volcano.sh/sla-waiting-time" in group["metadata"]["annotations"]
    assert "other" not in group["metadata"]["annotations"]


def test_a_count_that_is_none_is_one() -> None:
    for text in ("many", "-2", ""):
        key = {"scheduling.volcano.sh/group-min-member": text}
        assert wanted(*owned("StatefulSet", **key))["spec"]["minMember"] == 1


def test_what_the_pod_says_is_above_what_its_owner_says() -> None:
    made, owners = owned("ReplicaSet", **{"volcano.sh/preemptable": "true"})
    made["metadata"]["annotations"] = {"volcano.sh/preemptable": "false"}
    assert wanted(made, owners)["metadata"]["annotations"] == {"volcano.sh/preemptable": "false"}


def view_of(made: Obj, owners: list[Obj], kind: str = "ReplicaSet", **spec: Any) -> PodGroupView:
    """A workload that changed, its one pod, and all that can be read of them but the group."""
    workload = {**owners[0], "spec": {"replicas": 1, **spec}}
    answers = {Ask(("apps/v1", kind), "w"): workload, Ask(PODS, "p"): made}
    return PodGroupView(workload=workload, kind=kind, pods=[made], answers=answers)


def codes(plan: PodGroupPlan) -> list[str]:
    return [reason.code for reason in plan.why]


def test_a_bare_pod_needs_no_reading_and_gets_its_group_before_its_name() -> None:
    bare = pod("p", namespace="n", uid="p1")
    plan = decide(PodGroupView(pod=bare))
    assert (plan.read, plan.create, plan.tell) == ((), wanted(bare, []), bare)
    assert codes(plan) == ["GroupCreated", "PodTold"]


def test_a_pod_that_has_its_group_is_left_alone() -> None:
    assert decide(PodGroupView(pod=pod("p", annotations={GROUP: "mine"}))) == PodGroupPlan()


def test_owners_that_count_are_read_and_those_that_are_gone_are_left_out() -> None:
    made, owners = owned("DaemonSet", **{"volcano.sh/preemptable": "true"})
    ask = Ask(("apps/v1", "DaemonSet"), "w")
    assert decide(PodGroupView(pod=made)) == PodGroupPlan(read=(ask,))
    assert decide(PodGroupView(pod=made, answers={ask: owners[0]})).create == wanted(made, owners)
    assert decide(PodGroupView(pod=made, answers={ask: None})).create == wanted(made, [])
    stranger, _ = owned("Deployment")
    assert decide(PodGroupView(pod=stranger)).read == ()


def test_the_group_of_a_workload_is_written_anew_over_what_is_there() -> None:
    made, owners = owned("ReplicaSet", **{"scheduling.volcano.sh/group-min-member": "2"})
    view, group = view_of(made, owners), Ask(POD_GROUPS, "podgroup-u1")
    assert decide(view) == PodGroupPlan(read=(group,))
    old = wanted(*owned("ReplicaSet", **{"volcano.sh/preemptable": "true"}))
    old = {**old, "spec": {**old["spec"], "queue": "q"}, "status": {"phase": "Running"}}
    plan = decide(replace(view, answers={**view.answers, group: old}))
    assert plan.update is not None
    assert (plan.update["spec"]["minMember"], plan.update["spec"]["queue"]) == (2, "q")
    assert (plan.update["metadata"]["annotations"], plan.update["status"]) == ({}, {"phase": "Running"})
    assert codes(plan) == ["GroupUpdated"]
    plan = decide(replace(view, answers={**view.answers, group: None}))
    assert plan.create == wanted(made, owners)


def test_the_group_of_a_workload_that_is_scaled_to_nothing_goes() -> None:
    plan = decide(view_of(*owned("StatefulSet"), kind="StatefulSet", replicas=0))
    assert (plan.remove, codes(plan)) == ("podgroup-u1", ["ScaledToNothing"])


def test_only_pods_of_a_stateful_sets_newest_revision_count() -> None:
    made, owners = owned("StatefulSet")
    view = view_of(made, owners, kind="StatefulSet")
    workload = {**(view.workload or {}), "status": {"updateRevision": "new"}}
    assert decide(replace(view, workload=workload)) == PodGroupPlan()
    made["metadata"]["labels"] = {"controller-revision-hash": "new"}
    assert decide(replace(view, workload=workload)).read == (Ask(POD_GROUPS, "podgroup-u1"),)


def test_a_workload_whose_pods_are_all_gone_waits_for_the_next() -> None:
    view = view_of(*owned("ReplicaSet"))
    assert decide(replace(view, answers={Ask(PODS, "p"): None})) == PodGroupPlan()


def test_writes_are_safe_to_repeat() -> None:
    made, owners = owned("ReplicaSet")
    made["metadata"]["namespace"] = "default"

    async def script(scene: Scene) -> None:
        for _ in range(2):
            group = await act(PodGroupPlan(create=wanted(made, owners), tell=made), "default", scene.client)
            assert group is not None
        await act(
            PodGroupPlan(update={**group, "spec": {**group["spec"], "minMember": 2}}), "default", scene.client
        )
        group = await scene.client.get(POD_GROUPS, "podgroup-u1", "default")
        assert (group["spec"]["minMember"], group["spec"]["queue"]) == (2, "default")
        for _ in range(2):
            await act(PodGroupPlan(remove="podgroup-u1"), "default", scene.client)
        assert not (await scene.client.list(POD_GROUPS)).items

    play(script)


def test_the_reasons_are_remembered_under_the_groups_name() -> None:
    async def script(scene: Scene) -> None:
        ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u9", "controller": True}
        for name in ("a", "b"):
            await scene.client.create(PODS, pod(name, ownerReferences=[ref]), "default")
            await scene.settle()
        (group,) = (await scene.client.list(POD_GROUPS)).items
        told = scene.explained["volcano-podgroup"].of("default", "podgroup-u9")
        assert {each.uid for each in told} == {group["metadata"]["uid"]}
        assert [str(each.why[1]) for each in told] == [
            "writes the name of the group on pod a",
            "writes the name of the group on pod b",
        ]

    play(script, podgroup.run)
