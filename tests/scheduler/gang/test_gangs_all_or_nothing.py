"""Gangs get room together or not at all, and say why they wait."""

from __future__ import annotations

import pytest

from longshore.api.types import Obj
from support.scheduling_scene import PODGROUPS, PODS, Scene, play


def conditions(group: dict) -> dict[str, dict]:  # type: ignore[type-arg]
    return {c["type"]: c for c in (group.get("status") or {}).get("conditions", ())}


def test_a_gang_that_fits_is_bound_whole_within_a_moment() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.gang("g", 3, 3, {"cpu": "500m"})
        await scene.settle(0.3)
        assert len(await scene.bound("g-")) == 3
        await scene.settle()
        assert await scene.phase("g") == "Running"
        ready = conditions(await scene.group("g"))["Scheduled"]
        assert ready["reason"] == "tasks in gang are ready to be scheduled"

    play(story)


def test_nothing_of_a_gang_is_bound_until_all_of_it_fits() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("n1")
        await scene.node("n2", give={"cpu": "1900m"})
        await scene.gang("g", 3, 3, {"cpu": "1300m"})
        await scene.settle(3)
        assert await scene.bound("g-") == []
        group = await scene.group("g")
        assert group["status"]["phase"] == "Inqueue"
        fit = (
            "pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 Unschedulable, 2 Schedulable. "
            "Origin reason is g-2: 0/2 nodes are unavailable: 2 Insufficient cpu."
        )
        waits = conditions(group)["Unschedulable"]
        assert waits["reason"] == "NotEnoughResources"
        assert waits["message"] == f"1/3 tasks in gang unschedulable: {fit}"
        assert await scene.events("g") == [("Unschedulable", f"3/3 tasks in gang unschedulable: {fit}")]
        assert (await scene.condition("g-2"))["message"] == "0/2 nodes are unavailable: 2 Insufficient cpu."
        assert (await scene.condition("g-0"))["reason"] == "Schedulable"
        assert "once minAvailable is satisfied" in (await scene.condition("g-0"))["message"]
        *_, told = scene.schedulers.explain_group("default", "g")
        assert "needs 3 × 1.3 cpu, queue default has 3.9 cpu left, 2 nodes fit 2" in map(str, told.why)
        await scene.node("n3")
        await scene.settle(0.2)
        assert len(await scene.bound("g-")) == 3

    play(story)


def test_a_gang_that_lacks_pods_waits_for_them() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.gang("g", 2, 1, {"cpu": "500m"})
        await scene.settle(3)
        assert await scene.bound("g-") == []
        message = conditions(await scene.group("g"))["Unschedulable"]["message"]
        assert message == (
            "2/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 2 minAvailable; "
            "Pending: 1 Unschedulable"
        )
        await scene.members("g", [1], {"cpu": "500m"})
        await scene.settle(0.3)
        assert len(await scene.bound("g-")) == 2

    play(story)


def test_more_than_the_minimum_is_bound_as_room_allows() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "3"})
        await scene.gang("g", 2, 5, {"cpu": "1"})
        await scene.settle(3)
        assert sorted(await scene.bound("g-")) == ["g-0", "g-1", "g-2"]
        assert await scene.phase("g") == "Running"
        await scene.finish("g-0")
        await scene.settle(0.3)
        assert "g-3" in await scene.bound("g-")

    play(story)


def test_each_role_needs_its_own_minimum() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("g", 2, 2, {"cpu": "1"}, minTaskMember={"w": 1, "ps": 1})
        await scene.settle(2)
        assert await scene.bound("g-") == []
        await scene.members("g", [0], {"cpu": "1"}, role="ps")
        await scene.settle(0.3)
        assert sorted(await scene.bound("g-")) == ["g-0", "g-ps-0"]

    play(story)


def test_pods_that_ask_for_nothing_count_and_come_last() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "1"})
        await scene.gang("g", 3, 1, {"cpu": "1"}, minResources={"cpu": "1"})
        await scene.members("g", [1, 2])
        await scene.settle()
        assert len(await scene.bound("g-")) == 3

    play(story)


def test_a_group_beyond_the_cluster_is_not_let_in() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.gang("big", 5, 0, {"cpu": "1"})
        await scene.settle()
        assert await scene.phase("big") == "Pending"
        refused = ("Unschedulable", "resource in cluster is overused: overused cpu")
        assert await scene.events("big") == [refused]
        *_, told = scene.schedulers.explain_group("default", "big")
        assert "needs 5 × 1 cpu, queue default has 4 cpu left, 1 node fits 4" in map(str, told.why)
        assert any("of the cluster's 4 cpu (times 1.2) 0 are used" in line for line in map(str, told.why))
        await scene.gang("small", 1, 1, {"cpu": "1"})
        await scene.settle(0.3)
        assert await scene.bound("small") == ["small-0"]

    play(story)


def test_a_running_gang_that_cannot_be_whole_again_is_unknown() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.gang("g", 2, 2, {"cpu": "1"})
        await scene.settle()
        for name in ("g-0", "g-1"):
            await scene.finish(name, "Running")
        await scene.settle(2)
        assert (await scene.group("g"))["status"]["running"] == 2
        await scene.delete("g-1")
        await scene.pod("other", {"cpu": "1"}, nodeName="n1")
        await scene.members("g", [1], {"cpu": "1"})
        await scene.settle(2)
        assert await scene.phase("g") == "Unknown"

    play(story)


def test_a_gang_whose_pods_all_ended_is_completed() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.gang("g", 2, 2, {"cpu": "1"})
        await scene.settle()
        await scene.finish("g-0")
        await scene.finish("g-1", "Failed")
        await scene.settle(2)
        status = (await scene.group("g"))["status"]
        assert (status["phase"], status["succeeded"], status["failed"]) == ("Completed", 1, 1)

    play(story)


def test_gangs_and_single_pods_never_take_the_same_room() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.gang("g", 3, 3, {"cpu": "1"})
        for n in range(3):
            await scene.pod(f"p{n}", {"cpu": "1"})
        await scene.settle(3)
        bound = len(await scene.bound(""))
        assert bound == 4 if await scene.bound("g-") else bound == 3

    play(story)


def test_gated_pods_of_a_gang_are_not_bound() -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.gang("g", 1, 1, {"cpu": "1"}, pod={"schedulingGates": [{"name": "x.y/z"}]})
        await scene.settle(2)
        assert await scene.bound("g-") == []
        assert (await scene.condition("g-0"))["reason"] == "SchedulingGated"
        await scene.client.patch(PODS, "g-0", {"spec": {"schedulingGates": None}}, "default")
        await scene.settle(0.3)
        assert await scene.bound("g-") == ["g-0"]

    play(story)


def test_enough_subgroups_must_be_whole() -> None:
    async def story(scene: Scene) -> None:
        policy = {
            "name": "w",
            "subGroupSize": 2,
            "minSubGroups": 2,
            "labelSelector": {"matchLabels": {"gang": "g"}},
            "matchLabelKeys": ["volcano.sh/task-index"],
        }
        await scene.node()
        await scene.gang("g", 3, 2, {"cpu": "100m"}, subGroupPolicy=[policy])
        await scene.members("g", [0], {"cpu": "100m"}, role="x")
        await scene.settle(2)
        assert await scene.bound("g-") == []  # index 1 stands alone
        await scene.members("g", [1], {"cpu": "100m"}, role="x")
        await scene.settle(0.3)
        assert len(await scene.bound("g-")) == 4

    play(story)


ODD_EXPRESSION = {"key": "a", "operator": "Like"}


@pytest.mark.parametrize(
    "odd",
    [
        {"spec": {"subGroupPolicy": [{"labelSelector": {"matchExpressions": [ODD_EXPRESSION]}}]}},
        {"status": {"conditions": [{"status": "True"}]}},
    ],
)
def test_a_group_with_an_odd_selector_or_condition_holds_up_nobody_else(odd: Obj) -> None:
    async def story(scene: Scene) -> None:
        await scene.node()
        await scene.client.create(PODGROUPS, {"metadata": {"name": "odd"}, **odd}, "default")
        await scene.members("odd", [0], {"cpu": "100m"})
        await scene.settle(2)
        await scene.gang("g", 2, 2, {"cpu": "500m"})
        await scene.settle(2)
        assert len(await scene.bound("g-")) == 2
        assert len(await scene.bound("odd-")) == 1  # which needs no subgroup

    play(story)
