"""`gangpreempt` and `gangreclaim`: what gangs have to spare makes way, or whole gangs, and no more than that.
And `preempt` with a careful look at all nodes."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.facts import kinds
from support.scheduler_settings import FIRST, SECOND, settings, swapped
from support.scheduling_scene import Scene, play

PREEMPT = settings(actions="enqueue, allocate, gangpreempt")
RECLAIM = settings(actions="enqueue, allocate, gangreclaim")


def test_what_gangs_have_to_spare_goes_before_whole_gangs() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "4"})
        await scene.gang("whole", 2, 2, {"cpu": "1"}, minResources={})
        await scene.gang("loose", 1, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(0.6)
        assert (len(await scene.leaving("whole", 2)), len(await scene.leaving("loose", 2))) == (0, 1)

    play(story, gangs=PREEMPT)


def test_a_gang_that_must_make_way_goes_as_a_whole() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "4"})
        await scene.gang("one", 2, 2, {"cpu": "1"}, minResources={})
        await scene.settle(2)
        await scene.gang("two", 2, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(0.6)
        assert sorted((len(await scene.leaving("one", 2)), len(await scene.leaving("two", 2)))) == [0, 2]

    play(story, gangs=PREEMPT)


def test_nobody_goes_if_that_is_not_enough() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "4"})
        await scene.gang("low", 2, 4, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 5, 5, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(2)
        assert len(await scene.leaving("low", 4)) == 0

    play(story, gangs=PREEMPT)


def test_gangs_of_equal_priority_stay() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("one", 1, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("two", 1, 1, {"cpu": "1"}, minResources={})
        await scene.settle(2)
        assert len(await scene.leaving("one", 2)) == 0

    play(story, gangs=PREEMPT)


def test_a_gang_that_stays_near_may_ask_for_room_too() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        for name in ("a", "b"):
            await scene.node(name, give={"cpu": "2"})
            member = {"type": "Node", "selector": {"exactMatch": {"name": name}}}
            obj = {"metadata": {"name": f"h{name}"}, "spec": {"tier": 1, "members": [member]}}
            await scene.client.create(kinds.HYPER_NODES, obj)
        await scene.gang("low", 1, 4, {"cpu": "1"}, minResources={})
        await scene.settle()
        near: dict[str, Any] = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
        await scene.gang("high", 2, 2, {"cpu": "1"}, minResources={}, priorityClassName="hi", **near)
        await scene.settle(0.6)
        assert len(await scene.leaving("low", 4)) >= 2
        for number in range(4):
            found = await scene.get(f"low-{number}")
            if found is not None and "deletionTimestamp" in found["metadata"]:
                await scene.delete(f"low-{number}")
        await scene.settle(2)
        assert len({await scene.node_of(name) for name in await scene.bound("high")}) == 1

    play(story, gangs=PREEMPT)


def test_a_queue_takes_whole_gangs_back_from_one_that_has_too_much() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.queue("a")
        await scene.queue("b")
        for name in ("one", "two"):
            await scene.gang(name, 2, 2, {"cpu": "1"}, queue="a", minResources={})
        await scene.settle()
        await scene.gang("b", 2, 2, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle(0.6)
        assert sorted((len(await scene.leaving("one", 2)), len(await scene.leaving("two", 2)))) == [0, 2]

    play(story, gangs=RECLAIM)


def test_a_queue_that_is_not_reclaimable_keeps_its_gangs() -> None:
    async def story(scene: Scene) -> None:
        await scene.full_queue(1, 4, a={"reclaimable": False})
        await scene.gang("b", 1, 1, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle(2)
        assert len(await scene.leaving("a", 4)) == 0

    play(story, gangs=RECLAIM)


def test_with_a_careful_look_the_node_is_cleared_where_that_hurts_least() -> None:
    async def story(scene: Scene) -> None:
        for name, value in (("lo", 10), ("mid", 100), ("hi", 1000)):
            await scene.priority(name, value)
        await scene.node("first", give={"cpu": "1"}, labels={"n": "first"})
        await scene.node("second", give={"cpu": "1"}, labels={"n": "second"})
        for name, node in (("mid", "first"), ("lo", "second")):
            where = {"pod": {"nodeSelector": {"n": node}}}
            await scene.gang(name, 1, 1, {"cpu": "1"}, minResources={}, priorityClassName=name, **where)
        await scene.settle()
        await scene.gang("high", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(0.6)
        gone.append((len(await scene.leaving("mid", 1)), len(await scene.leaving("lo", 1))))

    gone: list[tuple[int, int]] = []
    careful = {"enableTopologyAwarePreemption": True}
    play(story, gangs=settings(FIRST, SECOND, actions="enqueue, allocate, preempt", preempt=careful))
    assert gone == [(0, 1)]


CAREFUL = settings(
    FIRST,
    SECOND,
    actions="enqueue, allocate, preempt",
    preempt={"enableTopologyAwarePreemption": True},
)


def far_from(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize("free", [2, 0], ids=["room enough", "no room"])
@pytest.mark.parametrize("repels", ["the new one", "the old one"])
def test_with_a_careful_look_those_make_way_whose_neighbourhood_is_the_problem(
    free: int, repels: str
) -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("mid", 100)
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": str(3 + free)})
        old: dict[str, Any] = {"extra": {"app": "x"}}
        new: dict[str, Any] = {"extra": {"app": "y"}}
        (new if repels == "the new one" else old)["affinity"] = far_from("xy"[repels == "the old one"])
        await scene.gang("x", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="mid", pod=old)
        await scene.gang("low", 1, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi", pod=new)
        await scene.settle(2)
        assert (await scene.leaving("x", 1), await scene.leaving("low", 2)) == ([0], [])

    play(story, gangs=CAREFUL)


def test_members_that_keep_apart_are_each_made_room_for_on_a_node_of_its_own() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        for name in ("n1", "n2"):
            await scene.node(name, give={"cpu": "2"})
        await scene.gang("low", 1, 4, {"cpu": "1"}, minResources={})
        await scene.settle()
        apart = {"extra": {"app": "y"}, "affinity": far_from("y")}
        await scene.gang("high", 2, 2, {"cpu": "1"}, minResources={}, priorityClassName="hi", pod=apart)
        await scene.settle(0.6)
        gone = [f"low-{n}" for n in await scene.leaving("low", 4)]
        assert sorted([await scene.node_of(name) for name in gone]) == ["n1", "n2"]

    play(story, gangs=CAREFUL)


def test_nobody_makes_way_on_a_node_that_the_gang_may_not_use() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node("barred", give={"cpu": "1"}, labels={"volcano.sh/nodegroup-name": "g"})
        avoid = {"nodeGroupAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["g"]}}
        await scene.queue("q", affinity=avoid)
        await scene.gang("low", 1, 1, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 1, 1, {"cpu": "1"}, queue="q", minResources={}, priorityClassName="hi")
        await scene.settle(2)
        assert len(await scene.leaving("low", 1)) == 0

    tier = swapped(FIRST, "gang", {"name": "gang", "enablePreemptable": False, "enableReclaimable": False})
    play(story, gangs=settings(tier, (*SECOND, "nodegroup"), actions="enqueue, allocate, preempt, reclaim"))
