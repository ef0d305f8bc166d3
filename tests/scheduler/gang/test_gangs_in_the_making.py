"""A gang whose pods are still being made is not told at once that it cannot be scheduled."""

from __future__ import annotations

from support.scheduling_scene import Scene, play


async def told(scene: Scene, name: str) -> list[str]:
    """Everything that a gang was told, and its first pod."""
    conditions = (await scene.group(name)).get("status", {}).get("conditions", ())
    events = [reason for reason, _ in await scene.events(name)]
    pod = await scene.condition(f"{name}-0")
    return [*(each["type"] for each in conditions), *events, *([pod["reason"]] if "reason" in pod else [])]


def test_a_gang_half_made_within_a_second_is_told_nothing() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.gang("g", 3, 1, {"cpu": "1"})
        await scene.settle(0.5)
        await scene.members("g", [1], {"cpu": "1"})
        await scene.settle(0.45)
        assert await told(scene, "g") == []
        await scene.members("g", [2], {"cpu": "1"})
        await scene.settle(2)
        assert len(await scene.bound("g")) == 3
        assert "Unschedulable" not in await told(scene, "g")

    play(story)


def test_one_that_stays_half_made_is_told_after_that_second() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.gang("g", 3, 2, {"cpu": "1"})
        await scene.settle(0.9)
        assert await told(scene, "g") == []
        await scene.settle(2)
        assert {"Unschedulable"} == {*(await told(scene, "g"))}

    play(story)


def test_a_whole_gang_without_room_is_told_at_once() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "1"})
        await scene.gang("g", 2, 2, {"cpu": "1"}, minResources={})
        await scene.settle(0.6)
        assert "Unschedulable" in await told(scene, "g")

    play(story)


def test_a_gang_that_lost_a_pod_is_told_at_once() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "4"})
        await scene.gang("g", 2, 2, {"cpu": "1"})
        await scene.settle(3)
        await scene.delete("g-1")
        await scene.settle(1.2)
        assert "Unschedulable" in await told(scene, "g")

    play(story)
