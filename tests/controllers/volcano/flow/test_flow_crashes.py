"""The controller dies right after any of its writes and comes back knowing nothing; the end is the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from controllers.volcano.flow.flows import FLOWS, JOBS, TEMPLATES, flow, move, template
from longshore.api.types import Obj
from longshore.controllers.volcano import flow as controller
from longshore.testing.crashing import MortalClient, every_crash, until_dead
from support.volcano_scene import Scene, play

ENTRIES: dict[str, list[str]] = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}


async def hand(scene: Scene) -> None:
    """Runs every Job there is, a little at a time."""
    while True:
        for job in (await scene.client.list(JOBS)).items:
            name, seen = job["metadata"]["name"], ((job.get("status") or {}).get("state") or {}).get("phase")
            following = {None: "Pending", "Pending": "Running", "Running": "Completed"}.get(seen)
            if following is not None:
                await move(scene.client, scene.clock, name, following)
        await scene.settle(7)


async def ending(scene: Scene) -> Any:
    status: Obj = (await scene.client.get(FLOWS, "f", "default"))["status"]
    return (
        status["state"],
        status["completedJobs"],
        [(j["name"], [run["state"] for run in j["runningHistories"]]) for j in status["jobStatusList"]],
        [t["status"]["jobDependsOnList"] for t in (await scene.client.list(TEMPLATES)).items],
        sorted(job["metadata"]["name"] for job in (await scene.client.list(JOBS)).items),
    )


def told(policy: str, last: int = 0, **how: Any) -> tuple[Any, int]:
    """The story of one flow, with one death if `last` names a write. Its end, and the writes it took."""
    pause = how.pop("pause", 0.0)

    async def script(scene: Scene) -> tuple[Any, int]:
        await template(scene.client, *"abcd")
        await flow(scene.client, ENTRIES, policy)
        moving = asyncio.create_task(hand(scene))
        mortal = MortalClient(scene.client, scene.clock, last, **how)
        if last:
            await until_dead(controller.run(scene.context(mortal)), mortal)
            await scene.settle(pause)
        again = asyncio.create_task(controller.run(scene.context(scene.client if last else mortal)))
        await scene.settle(200)
        try:
            return await ending(scene), mortal.writes
        finally:
            moving.cancel()
            again.cancel()
            await asyncio.gather(moving, again, return_exceptions=True)

    return play(script)


@pytest.mark.parametrize("policy", ["retain", "delete"])
def test_a_flow_ends_the_same_whenever_its_controller_dies(policy: str) -> None:
    expected, writes = told(policy)
    assert expected[0] == {"phase": "Succeed"}
    assert writes > 10
    for last, death, pause in every_crash(writes):
        end, _ = told(policy, last, death=death, pause=pause)
        assert end == expected, f"died at write {last}, {death.value}"
