"""In a longshore of its own the node follows pods together with the controllers: one watch, one cache."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from longshore.api.types import Obj
from longshore.client.projection import WHOLE
from longshore.machinery.informers.informer import Handler, Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.scripted_runtime import Run
from support.node_world import NS, PODS, World, a_pod, a_world, agent_of


@asynccontextmanager
async def somebody_follows(world: World) -> AsyncIterator[None]:
    """A controller of the same process has all pods cached, before and after any node."""
    assert world.informers is not None
    informer = world.informers.share().get(PODS)
    informer.add_handler(Handler())
    task = asyncio.create_task(informer.run())
    await informer.synced()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_a_pod_that_was_cached_before_the_node_came_back_is_adopted_and_not_started_again() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, lambda container: Run(seconds=60.0, code=3)) as world:
            world.informers = Informers(world.client, clock=clock, rng=random.Random(2), reads={PODS: WHOLE})
            async with somebody_follows(world):
                async with agent_of(world):
                    await world.create()
                    await world.phase("Running")
                async with agent_of(world):
                    status = await world.phase("Failed")
            assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
            assert [*world.machine.started.values()] == [1]

    virtual.run(play)


def test_pods_of_other_nodes_and_of_no_node_are_none_of_its_business() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock) as world:
            world.informers = Informers(world.client, clock=clock, rng=random.Random(2), reads={PODS: WHOLE})
            async with somebody_follows(world), agent_of(world):
                await world.create(a_pod("elsewhere", nodeName="there"))
                await world.create(_unbound("nowhere"))
                await world.create(_unbound("soon"))
                target = {"kind": "Node", "name": "here"}
                binding = {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": "soon"},
                    "target": target,
                }
                await world.client.create(PODS, binding, NS, name="soon", subresource="binding")
                await world.phase("Succeeded", name="soon")
                await world.client.delete(PODS, "nowhere", NS)
                await clock.sleep(5.0)
                assert (await world.status("elsewhere"))["phase"] == "Pending"
                assert len(world.machine.started) == 1
                assert world.preparer.removed == []

    virtual.run(play)


def _unbound(name: str) -> Obj:
    pod: Obj = a_pod(name)
    del pod["spec"]["nodeName"]
    return pod
