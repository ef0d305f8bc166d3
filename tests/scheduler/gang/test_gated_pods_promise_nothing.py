"""Pods with scheduling gates hold no promise: what they ask for is deducted from what a gang is promised."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.scheduler.gang.settings import DEFAULT_ACTIONS
from support.scheduler_settings import FIRST, SECOND, settings, swapped
from support.scheduling_scene import PODS, Scene, play

GATE = {"schedulingGates": [{"name": "example.com/wait"}]}
ACTIONS = ", ".join(DEFAULT_ACTIONS)
SHARES: dict[str, Any] = {
    "overcommit": settings(FIRST, swapped(SECOND, "proportion"), actions=ACTIONS),
    "proportion": settings(FIRST, swapped(SECOND, "overcommit"), actions=ACTIONS),
    "capacity": settings(
        FIRST, swapped(swapped(SECOND, "overcommit"), "proportion", "capacity"), actions=ACTIONS
    ),
}


@pytest.mark.parametrize("gangs", SHARES.values(), ids=SHARES)
def test_a_gang_of_gated_pods_keeps_no_other_out(gangs: Any) -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("gated", 2, 2, {"cpu": "1"}, pod=GATE)
        await scene.settle()
        assert await scene.phase("gated") == "Inqueue"
        await scene.gang("other", 2, 2, {"cpu": "1"})
        await scene.settle(2)
        assert len(await scene.bound("other")) == 2

    play(story, gangs=gangs)


@pytest.mark.parametrize("gangs", SHARES.values(), ids=SHARES)
def test_a_gang_without_gates_keeps_its_promise(gangs: Any) -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("first", 2, 0, {"cpu": "1"})
        await scene.settle()
        await scene.gang("other", 2, 0, {"cpu": "1"})
        await scene.settle(2)
        assert (await scene.phase("first"), await scene.phase("other")) == ("Inqueue", "Pending")

    play(story, gangs=gangs)


def test_only_the_gated_part_is_deducted() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("half", 2, 0, {"cpu": "1"})
        await scene.members("half", [0], {"cpu": "1"})
        await scene.members("half", [1], {"cpu": "1"}, **GATE)
        await scene.settle()
        await scene.gang("large", 2, 0, {"cpu": "1"})
        await scene.gang("small", 1, 0, {"cpu": "1"})
        await scene.settle(2)
        assert (await scene.phase("large"), await scene.phase("small")) == ("Pending", "Inqueue")

    play(story, gangs=SHARES["proportion"])


def test_a_gate_that_opens_brings_the_promise_back() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "2"})
        await scene.gang("gated", 2, 2, {"cpu": "1"}, pod=GATE)
        await scene.settle()
        for n in range(2):
            opened = {"spec": {"schedulingGates": None}}
            await scene.client.patch(PODS, f"gated-{n}", opened, "default")
        await scene.settle(2)
        assert len(await scene.bound("gated")) == 2
        await scene.gang("other", 1, 0, {"cpu": "1"})
        await scene.settle(2)
        assert await scene.phase("other") == "Pending"

    play(story, gangs=SHARES["proportion"])
