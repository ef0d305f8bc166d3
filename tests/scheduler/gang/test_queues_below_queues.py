"""Queues below queues: `capacity` with hierarchy, and `drf` with hierarchy."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.scheduler.gang.conf.scheduler_conf import BadConf
from longshore.scheduler.gang.settings import DEFAULT_ACTIONS
from support.scheduler_settings import FIRST, SECOND, settings, swapped
from support.scheduling_scene import QUEUES, Scene, play

CAPACITY = {"name": "capacity", "enableHierarchy": True}
BRANCHES = settings(FIRST, swapped(SECOND, "proportion", CAPACITY))
NOBODY_REMOVED = ", ".join(DEFAULT_ACTIONS)


async def leaving(scene: Scene, prefix: str, count: int) -> int:
    found = [await scene.get(f"{prefix}-{n}") for n in range(count)]
    return sum(pod is None or "deletionTimestamp" in pod["metadata"] for pod in found)


async def departments(scene: Scene, cpus: int = 8) -> None:
    """`eng` deserves 6 and has `dev` and `test`; `ops` deserves 2 and has `night`."""
    await scene.node(give={"cpu": str(cpus)})
    await scene.queue("eng", deserved={"cpu": "6"})
    await scene.queue("ops", deserved={"cpu": "2"})
    await scene.queue("dev", parent="eng", deserved={"cpu": "3"})
    await scene.queue("test", parent="eng", deserved={"cpu": "3"})
    await scene.queue("night", parent="ops", deserved={"cpu": "2"})


def test_a_branch_reclaims_what_another_has_beyond_its_share() -> None:
    async def story(scene: Scene) -> None:
        await departments(scene)
        await scene.gang("n", 1, 8, {"cpu": "1"}, queue="night", minResources={})
        await scene.settle()
        assert len(await scene.bound("n-")) == 8
        await scene.gang("d", 3, 3, {"cpu": "1"}, queue="dev", minResources={})
        await scene.settle(0.5)
        assert await leaving(scene, "n", 8) == 3

    tier = swapped(FIRST, "gang", {"name": "gang", "enableReclaimable": False, "enablePreemptable": False})
    tier = swapped(tier, "conformance", {"name": "conformance", "enableReclaimable": False})
    play(story, gangs=settings(tier, swapped(SECOND, "proportion", CAPACITY)))


def test_a_queue_whose_branch_has_no_more_than_it_deserves_keeps_all() -> None:
    async def story(scene: Scene) -> None:
        await departments(scene)
        await scene.gang("d", 1, 6, {"cpu": "1"}, queue="dev", minResources={})
        await scene.gang("n", 1, 2, {"cpu": "1"}, queue="night", minResources={})
        await scene.settle()
        assert (len(await scene.bound("d-")), len(await scene.bound("n-"))) == (6, 2)
        await scene.gang("x", 1, 1, {"cpu": "1"}, queue="night", minResources={})
        await scene.settle(2)
        assert await leaving(scene, "d", 6) == 0  # dev has more than its own, eng has not

    play(story, gangs=BRANCHES)


def test_within_a_branch_each_queue_gets_its_own() -> None:
    async def story(scene: Scene) -> None:
        await departments(scene, cpus=6)
        await scene.gang("d", 6, 6, {"cpu": "1"}, queue="dev", minResources={})
        await scene.settle()
        assert len(await scene.bound("d-")) == 6
        await scene.gang("t", 3, 3, {"cpu": "1"}, queue="test", minResources={})
        await scene.settle(0.5)
        assert await leaving(scene, "d", 6) == 3

    play(story, gangs=BRANCHES)


def test_the_capability_of_a_queue_above_counts_what_was_promised_below_it() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await scene.queue("above", capability={"cpu": "2"})
        for name in ("left", "right"):
            await scene.queue(name, parent="above")
            await scene.gang(name, 2, 0, {"cpu": "1"}, queue=name)
        await scene.settle(2)
        assert {await scene.phase("left"), await scene.phase("right")} == {"Inqueue", "Pending"}

    play(story, gangs=BRANCHES)


def test_the_branch_with_the_smaller_share_goes_first() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("small", give={"cpu": "1"})
        await scene.queue("a", deserved={"cpu": "4"})
        await scene.queue("b", deserved={"cpu": "4"})
        await scene.queue("a1", parent="a", deserved={"cpu": "2"})
        await scene.queue("a2", parent="a", deserved={"cpu": "2"})
        await scene.queue("b1", parent="b", deserved={"cpu": "4"})
        await scene.gang("first", 1, 1, {"cpu": "1"}, queue="a1", minResources={})
        await scene.settle(2)
        await scene.gang("sibling", 1, 1, {"cpu": "1"}, queue="a2", minResources={})
        await scene.settle(2)
        await scene.gang("other", 1, 1, {"cpu": "1"}, queue="b1", minResources={})
        await scene.settle(2)
        await scene.node("more", give={"cpu": "1"})
        await scene.settle(2)
        assert (await scene.bound("other"), await scene.bound("sibling")) == (["other-0"], [])

    play(story, gangs=settings(FIRST, swapped(SECOND, "proportion", CAPACITY), actions=NOBODY_REMOVED))


EVERY_SHARING = pytest.mark.parametrize(
    "sharing", ["proportion", "capacity", CAPACITY], ids=["proportion", "capacity", "hierarchy"]
)


@EVERY_SHARING
@pytest.mark.parametrize("cpus", ["4", "8"], ids=["full cluster", "full branch"])
@pytest.mark.parametrize("deep", [False, True], ids=["below", "two below"])
def test_a_queue_reclaims_its_part_of_what_the_queue_above_may_have(
    sharing: Any, cpus: str, deep: bool
) -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": cpus})
        await scene.queue("org", capability={"cpu": "4"}, deserved={"cpu": "4"})
        if deep:
            await scene.queue("site", parent="org", deserved={"cpu": "4"})
        for name in ("a", "b"):
            await scene.queue(name, parent="site" if deep else "org", deserved={"cpu": "2"})
        await scene.gang("a", 1, 4, {"cpu": "1"}, queue="a")
        await scene.settle(2)
        assert len(await scene.bound("a-")) == 4
        more: dict[str, Any] = {"minResources": {}} if cpus == "4" else {}  # a full cluster lets nobody in
        await scene.gang("b", 2, 2, {"cpu": "1"}, queue="b", **more)
        await scene.settle(2)
        assert len(await scene.leaving("a", 4)) == 2
        for gone in await scene.leaving("a", 4):
            await scene.finish(f"a-{gone}")
        await scene.settle(2)
        assert len(await scene.bound("b-")) == 2

    play(story, gangs=settings(FIRST, swapped(SECOND, "proportion", sharing)))


def test_by_weight_queues_share_what_the_queue_above_may_have() -> None:
    async def story(scene: Scene) -> None:
        await scene.queue("org", capability={"cpu": "4"})
        for name, weight in (("a", 3), ("b", 1)):
            await scene.queue(name, parent="org", weight=weight)
        for name in ("a", "b", "default"):
            await scene.gang(name, 1, 8, {"cpu": "1"}, queue=name)
        await scene.settle()
        await scene.node(give={"cpu": "10"})
        await scene.settle(2)
        found = [len(await scene.bound(f"{name}-")) for name in ("a", "b", "default")]
        assert found == [3, 1, 6]

    play(story)


@EVERY_SHARING
def test_what_is_guaranteed_to_a_queue_and_to_those_below_it_is_kept_free_once(sharing: Any) -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        sure = {"guarantee": {"resource": {"cpu": "4"}}, "deserved": {"cpu": "4"}}
        await scene.queue("org", **sure)
        await scene.queue("a", parent="org", **sure)
        await scene.gang("others", 1, 8, {"cpu": "1"})
        await scene.gang("a", 4, 4, {"cpu": "1"}, queue="a")
        await scene.settle(2)
        assert (len(await scene.bound("others-")), len(await scene.bound("a-"))) == (4, 4)

    play(story, gangs=settings(FIRST, swapped(SECOND, "proportion", sharing), actions=NOBODY_REMOVED))


@EVERY_SHARING
def test_a_gang_that_waits_for_a_queue_above_is_told_of_it(sharing: Any) -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await scene.queue("org", capability={"cpu": "3"})
        for name in ("a", "b"):
            await scene.queue(name, parent="org")
        await scene.gang("a", 2, 2, {"cpu": "1"}, queue="a")
        await scene.settle(2)
        await scene.gang("b", 2, 2, {"cpu": "1"}, queue="b")
        await scene.settle(2)
        assert await scene.phase("b") == "Pending"
        *_, told = scene.schedulers.explain_group("default", "b")
        why = [str(each) for each in told.why]
        assert "needs 2 × 1 cpu, queue b has 1 cpu left, 1 node fits 6" in why
        assert "of the 3 cpu that queue org may have, 2 are used or promised" in why

    play(story, gangs=settings(FIRST, swapped(SECOND, "proportion", sharing), actions=NOBODY_REMOVED))


async def weighted(scene: Scene, name: str, path: str, weights: str) -> None:
    notes = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    await scene.client.create(QUEUES, {"metadata": {"name": name, "annotations": notes}, "spec": {}})
    await scene.client.patch(QUEUES, name, {"status": {"state": "Open"}}, subresource="status")


HIERARCHY = {"name": "drf", "enableHierarchy": True, "enablePreemptable": False}


@pytest.mark.parametrize(("weights", "shares"), [("1/1/1", (4, 4)), ("1/3/1", (6, 2)), ("1/nan/nan", (4, 4))])
def test_by_drf_branches_share_by_their_weights(weights: str, shares: tuple[int, int]) -> None:
    async def story(scene: Scene) -> None:
        await weighted(scene, "sci", "root/sci/dev", weights)
        await weighted(scene, "eng", "root/eng/dev", "1/1/1")
        for queue in ("sci", "eng"):
            for number in range(8):
                least: dict[str, Any] = {"minResources": {}}
                await scene.gang(f"{queue}{number}", 1, 1, {"cpu": "1"}, queue=queue, **least)
        await scene.settle()
        await scene.node(give={"cpu": "8"})
        await scene.settle(2)
        assert (len(await scene.bound("sci")), len(await scene.bound("eng"))) == shares

    second = swapped(swapped(SECOND, "proportion"), "drf", HIERARCHY)
    play(story, gangs=settings(FIRST, second, actions=NOBODY_REMOVED))


def test_proportion_and_drf_with_hierarchy_exclude_each_other() -> None:
    with pytest.raises(BadConf, match="proportion and drf with enableHierarchy exclude each other"):
        settings(FIRST, swapped(SECOND, "drf", HIERARCHY))


def test_queues_that_are_below_each_other_hold_up_nobody() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.queue("one")
        await scene.queue("two", parent="one")
        await scene.queue("below", parent="two")
        await scene.client.patch(QUEUES, "one", {"spec": {"parent": "two"}})
        await scene.gang("g", 2, 2, {"cpu": "1"})
        await scene.gang("b", 1, 1, {"cpu": "1"}, queue="below")
        await scene.settle()
        assert (len(await scene.bound("g-")), len(await scene.bound("b-"))) == (2, 1)

    play(story, gangs=BRANCHES)
