"""Who makes way for whom: the plugins of a tier agree, and the first tier that names anybody decides."""

from __future__ import annotations

from support.scheduler_settings import FIRST, SECOND, settings, swapped
from support.scheduling_scene import Scene, play

GANGS_KEPT = swapped(FIRST, "gang", "gang")
"""Gangs are kept whole from preemption, too."""


def test_pods_beyond_a_gangs_minimum_are_reclaimed_though_their_queue_has_less_than_it_deserves() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "3"})
        await scene.queue("rich", weight=8)
        await scene.queue("poor", weight=1)
        await scene.gang("a", 1, 3, {"cpu": "1"}, queue="rich", minResources={})
        await scene.settle()
        await scene.gang("b", 1, 1, {"cpu": "300m"}, queue="poor", minResources={})
        await scene.settle()
        assert len(await scene.leaving("a", 3)) == 1

    play(story, gangs=settings())


def test_a_queues_share_is_reclaimed_only_if_no_gang_has_pods_to_spare() -> None:
    async def story(scene: Scene) -> None:
        await scene.node("one", give={"cpu": "2"})
        await scene.node("two", give={"cpu": "2"})
        await scene.queue("a")
        await scene.queue("b")
        await scene.gang("whole", 2, 2, {"cpu": "1"}, queue="a", minResources={})
        await scene.settle()
        await scene.gang("loose", 1, 2, {"cpu": "1"}, queue="a", minResources={})
        await scene.settle()
        assert len(await scene.bound("whole")) + len(await scene.bound("loose")) == 4
        await scene.gang("b", 1, 1, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle()
        assert await scene.leaving("whole", 2) == []
        assert len(await scene.leaving("loose", 2)) == 1

    play(story, gangs=settings())


def test_where_no_gang_has_pods_to_spare_the_share_decides() -> None:
    async def story(scene: Scene) -> None:
        await scene.full_queue(4, 4)
        await scene.gang("b", 2, 2, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle(0.5)
        assert len(await scene.leaving("a", 4)) == 2  # down to what queue a deserves

    play(story, gangs=settings())


def test_a_gang_with_some_to_spare_is_not_broken_by_its_queues_share() -> None:
    async def story(scene: Scene) -> None:
        await scene.full_queue(3, 4)
        await scene.gang("b", 1, 1, {"cpu": "2"}, queue="b", minResources={})
        await scene.settle(2)
        assert await scene.leaving("a", 4) == []  # the one to spare is not enough

    play(story, gangs=settings())


def test_a_queue_that_is_not_reclaimable_keeps_everything() -> None:
    async def story(scene: Scene) -> None:
        await scene.full_queue(1, 4, a={"reclaimable": False})
        await scene.gang("b", 2, 2, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle(2)
        assert await scene.leaving("a", 4) == []

    play(story, gangs=settings())


def test_a_queue_reclaims_no_more_than_it_deserves() -> None:
    async def story(scene: Scene) -> None:
        await scene.full_queue(1, 4, a={"deserved": {"cpu": "2"}}, b={"deserved": {"cpu": "2"}})
        await scene.gang("b", 3, 3, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle(2)
        assert await scene.leaving("a", 4) == []  # b may borrow a third, but nobody makes way for it

    play(story, gangs=settings(FIRST, swapped(SECOND, "proportion", "capacity")))


def test_system_pods_are_never_reclaimed() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.queue("a")
        await scene.queue("b")
        vital = {"pod": {"priorityClassName": "system-cluster-critical"}}
        await scene.priority("system-cluster-critical", 2000000000)
        await scene.gang("a", 1, 2, {"cpu": "1"}, queue="a", minResources={}, **vital)
        await scene.settle()
        await scene.gang("b", 1, 1, {"cpu": "1"}, queue="b", minResources={})
        await scene.settle(2)
        assert await scene.leaving("a", 2) == []

    second = swapped(SECOND, "proportion", {"name": "proportion", "enableReclaimable": False})
    play(story, gangs=settings(FIRST, second))


def test_a_gang_that_tier_one_protects_is_not_preempted_though_of_less_priority() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "2"})
        await scene.gang("low", 2, 2, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 1, 1, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(2)
        assert await scene.leaving("low", 2) == []

    play(story, gangs=settings(GANGS_KEPT, SECOND))


def test_the_next_tier_is_asked_when_the_first_names_nobody() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.gang("large", 1, 4, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("small", 1, 1, {"cpu": "1"}, minResources={})
        await scene.settle(2)
        assert len(await scene.leaving("large", 4)) == 1  # of equal priority, and of the larger share

    play(story, gangs=settings(FIRST, swapped(SECOND, "drf", "drf")))


def test_a_gang_of_the_smaller_share_keeps_its_pods() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.gang("small", 1, 2, {"cpu": "500m"}, minResources={})
        await scene.gang("large", 1, 3, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.members("large", [3], {"cpu": "1"})
        await scene.settle(2)
        assert await scene.leaving("small", 2) == []

    play(story, gangs=settings(FIRST, swapped(SECOND, "drf", "drf")))


def test_by_priority_alone_a_gang_may_take_more_than_its_minimum() -> None:
    async def story(scene: Scene) -> None:
        await scene.priority("hi", 1000)
        await scene.node(give={"cpu": "4"})
        await scene.gang("low", 1, 4, {"cpu": "1"}, minResources={})
        await scene.settle()
        await scene.gang("high", 1, 3, {"cpu": "1"}, minResources={}, priorityClassName="hi")
        await scene.settle(0.5)
        assert len(await scene.leaving("low", 4)) == 3

    gang = {"name": "gang", "enablePreemptable": False, "enableJobStarving": False}
    play(story, gangs=settings(swapped(FIRST, "gang", gang), SECOND))
