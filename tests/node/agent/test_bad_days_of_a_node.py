"""The agent with a client that has bad days: refusals, lost answers, watches that break, lag and forget."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from longshore.api.types import Obj
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.faulty_client import FaultyClient
from node.agent.pod_stories import STORIES, Story, ending
from support.node_world import World, a_world


def _played(story: Story, seed: int, rate: float) -> tuple[Obj, Counter[str]]:
    async def play(clock: VirtualClock) -> tuple[Obj, Counter[str]]:
        async with a_world(clock, story.script) as world:
            faulty = FaultyClient(world.client, clock, seed, rate=rate, lag=3.0 if rate else 0.0)
            task = asyncio.create_task(world.run_agent(faulty))
            await story.tell(world)
            await world.phase("Succeeded", "Failed", seconds=600)
            await clock.sleep(60)
            assert max(world.machine.started.values(), default=0) <= 1, "something was started twice"
            assert world.machine.states == {}
            pod = await world.get()
            assert pod is not None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return ending(pod), faulty.happened

    return virtual.run(play, seed=seed)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_whatever_goes_wrong_with_requests_the_end_is_the_same(story: Story) -> None:
    expected, _ = _played(story, 0, 0.0)
    expected.pop("podIP")
    happened: Counter[str] = Counter()
    for seed in range(8):
        found, faults = _played(story, seed, 0.25)
        found.pop("podIP")
        happened += faults
        assert found == expected, f"{seed=} {faults}"
    assert len(happened) >= 3, happened


def test_old_news_of_a_pod_that_has_ended_does_not_start_it_again() -> None:
    """Somebody labels the pod before its end is written; the watch tells of the label only after that."""

    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, STORIES[1].script) as world:
            client = FaultyClient(world.client, clock, 1, rate=0.0, lag=3.0)
            task = asyncio.create_task(world.run_agent(client))
            for n in range(20):
                await world.create(name=f"p{n}")
                await clock.sleep(0.3)
                await world.client.patch(("v1", "Pod"), f"p{n}", {"metadata": {"labels": {"a": "b"}}}, "ns")
            await _ended(world)
            await clock.sleep(30)
            assert set(world.machine.started.values()) == {1}
            assert len(world.machine.started) == 20
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    virtual.run(play)


async def _ended(world: World) -> None:
    for n in range(20):
        await world.phase("Succeeded", "Failed", name=f"p{n}")
