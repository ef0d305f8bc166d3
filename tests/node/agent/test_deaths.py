"""The agent dies at every one of its steps, an API write or a call of the engine, and is started again: the
end is the same, and nothing was started twice.

A step is done and the agent dies before it hears of it, or it hears of it and dies at its next step. The
machine goes on meanwhile. What is written about the node itself, and events, do not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.client.ask import Ask
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.node.runtime import Container, ContainerState, Key
from longshore.testing.crashing import READS, OneByOne, Send
from longshore.testing.scripted_runtime import Run, ScriptedMachine, ScriptedRuntime
from node.agent.pod_stories import STORIES, Story, ending
from support.node_world import NS, PODS, a_world, scripted

pytestmark = pytest.mark.long

_LINGERING = 400.0
"""An agent that does nothing more dies anyhow, so many seconds later."""


class Mortality:
    """Dies at step `last`; 0 never does."""

    def __init__(self, clock: VirtualClock, last: int = 0, heard: bool = False) -> None:
        self.steps, self.dead = 0, asyncio.Event()
        self._clock, self._last, self._heard, self._over = clock, last, heard, False

    async def step(self, do: Callable[[], Awaitable[Any]]) -> Any:
        if self._over:
            await self._die()
        self.steps += 1
        is_last = self.steps == self._last
        if is_last:
            self._over = True
            self._clock.call_later(_LINGERING, self.dead.set)
        try:
            return await do()
        finally:
            if is_last and not self._heard:
                await self._die()

    async def _die(self) -> None:
        self.dead.set()
        await asyncio.get_running_loop().create_future()


class MortalClient(OneByOne):
    def __init__(self, client: Client, life: Mortality) -> None:
        super().__init__(client)
        self._life = life

    async def reach(self, ask: Ask, send: Send) -> Any:
        if ask.verb in READS or ask.resource.plural != "pods":
            return await send(ask)
        return await self._life.step(lambda: send(ask))


class MortalRuntime(ScriptedRuntime):
    def __init__(self, machine: ScriptedMachine, life: Mortality) -> None:
        super().__init__(machine)
        self._life = life

    async def start(self, container: Container) -> ContainerState:
        state: ContainerState = await self._life.step(lambda: super(MortalRuntime, self).start(container))
        return state

    async def signal(self, key: Key, number: int) -> None:
        await self._life.step(lambda: super(MortalRuntime, self).signal(key, number))

    async def remove(self, keys: Iterable[Key]) -> None:
        await self._life.step(lambda: super(MortalRuntime, self).remove(keys))

    async def close(self, *, kill: bool) -> None:
        """The dead say no goodbye."""


def _played(story: Story, last: int, heard: bool, away: float) -> tuple[Obj, int]:
    """How the story ends when the agent dies at step `last`, and how many steps it took by then."""

    async def play(clock: VirtualClock) -> tuple[Obj, int]:
        async with a_world(clock, story.script) as world:
            life = Mortality(clock, last, heard)
            world.runtimes = {"process": MortalRuntime(world.machine, life)}
            client = MortalClient(world.client, life)
            first = asyncio.create_task(world.run_agent(client))
            await clock.sleep(0.1)
            told = asyncio.create_task(story.tell(world))  # type: ignore[arg-type] # it is a coroutine
            tasks = [first]
            if last:
                await life.dead.wait()
                world.machine.told = None
                first.cancel()
                await clock.sleep(away)
                world.runtimes = {}
                tasks.append(asyncio.create_task(world.run_agent()))
            await told
            await world.phase("Succeeded", "Failed", seconds=1000)
            await clock.sleep(30)
            assert max(world.machine.started.values(), default=0) <= 1, "something was started twice"
            assert world.machine.running == []
            assert world.machine.states == {}, "the engine was not told to forget"
            pod = await world.get()
            assert pod is not None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            ended = ending(pod)
            ended["starts"] = sorted(str(key).partition("/")[2] for key in world.machine.started)
            return ended, life.steps

    return virtual.run(play)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_wherever_the_agent_dies_the_end_is_the_same(story: Story) -> None:
    undisturbed, steps = _played(story, 0, False, 0.0)
    assert steps >= 1
    undisturbed.pop("podIP")
    for number in range(1, steps + 1):
        for heard in (False, True):
            for away in (0.0, 3.0):
                ended, _ = _played(story, number, heard, away)
                ended.pop("podIP")
                assert ended == undisturbed, f"died at step {number} of {steps}, {heard=}, {away=}"


def test_a_machine_that_went_down_leaves_containers_whose_end_nobody_knows() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, scripted(main=[Run(None), Run(1.0)])) as world:
            await world.create(name="never")
            await world.create(name="again", restart="OnFailure")
            first = asyncio.create_task(world.run_agent())
            await world.phase("Running", name="never")
            await world.phase("Running", name="again")
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            world.machine.lose()
            second = asyncio.create_task(world.run_agent())
            failed = await world.phase("Failed", name="never")
            ended = failed["containerStatuses"][0]["state"]["terminated"]
            assert (ended["reason"], ended["exitCode"]) == ("ContainerStatusUnknown", 137)
            status = await world.phase("Succeeded", name="again")
            assert status["containerStatuses"][0]["restartCount"] == 1
            assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)

    virtual.run(play)


def test_what_runs_and_belongs_to_no_pod_is_killed() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, scripted(main=Run(None, on_term=None))) as world:
            await world.create()
            first = asyncio.create_task(world.run_agent())
            await world.phase("Running")
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            await world.client.delete(PODS, "p", NS, DeleteOptions(grace_period_seconds=0))
            assert len(world.machine.running) == 1
            second = asyncio.create_task(world.run_agent())
            await clock.sleep(1)
            assert world.machine.states == {}
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)

    virtual.run(play)


def test_a_container_that_goes_on_while_longshore_is_away_is_adopted() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, scripted(main=Run(100.0, code=4))) as world:
            pod = await world.create()
            first = asyncio.create_task(world.run_agent())
            running = await world.phase("Running")
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            await clock.sleep(20)
            second = asyncio.create_task(world.run_agent())
            ended = await world.phase("Failed")
            assert ended["podIP"] == running["podIP"]
            assert ended["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 4
            assert ended["startTime"] == running["startTime"]
            assert world.machine.started == {Key(pod["metadata"]["uid"], "main", 0): 1}
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)

    virtual.run(play)


def test_stopping_with_kill_stops_pods_and_says_so() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, scripted(main=Run(None, on_term=1.0))) as world:
            world.on_stop = "kill"
            await world.create()
            first = asyncio.create_task(world.run_agent())
            await world.phase("Running")
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            status = await world.status()
            assert (status["phase"], status["reason"]) == ("Failed", "Terminated")
            assert world.machine.running == []

    virtual.run(play)
