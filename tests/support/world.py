"""An API in memory on the virtual clock, and the verbs that tests of all controllers share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from longshore.api.errors import StatusError
from longshore.api.metrics import Registry
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Client, DeleteOptions, What
from longshore.client.local import LocalClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanations
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.runs import Run
from longshore.store import Store
from longshore.testing import stories
from longshore.testing.scripted_node import ScriptedNode
from longshore.testing.stories import NS, an_api

PODS, EVENTS, NAMESPACES = ("v1", "Pod"), ("v1", "Event"), ("v1", "Namespace")
T = TypeVar("T")
W = TypeVar("W", bound="World")


async def found(client: Client, what: What, name: str, namespace: str = "") -> Obj | None:
    """The object, or None if there is none of this name."""
    try:
        return await client.get(what, name, namespace)
    except StatusError as err:
        if err.code != 404:
            raise
        return None


def a_run(seconds: float | None = 30.0, code: int = 0) -> Run:
    """A run that takes a second to stop."""
    return Run(seconds, code, on_term=1.0)


class World:
    """What a test sees and does. `registry` and `explanations` are those of the controller under test."""

    namespace: ClassVar = NS
    """Where objects are, if a test says nothing else."""
    pause, growth = 0.5, 1.3
    """Seconds between two looks of `until`, and by how much they grow, up to ten."""

    def __init__(self, api: Api, clock: VirtualClock) -> None:
        self.api, self.client, self.clock = api, LocalClient(api), clock
        self.registry, self.explanations = Registry(), Explanations()
        self._tasks: list[asyncio.Task[None]] = []

    async def prepare(self) -> None:
        """Creates and starts what is there before the story begins."""

    def context(self, client: Client | None = None, **more: Any) -> ControllerContext:
        given = {"clock": self.clock, "rng": self.clock.rng, **more}
        return ControllerContext(client or self.client, **given)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something until `stop`."""
        self._tasks.append(asyncio.create_task(work))

    async def stop(self) -> None:
        """Ends what runs. If something of it has failed, its error is raised."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    async def begin_node(self, node: ScriptedNode, context: ControllerContext) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": "kube-node-lease"}})
        self.begin(node.new_agent(context).run())

    async def find(self, what: What, name: str, namespace: str | None = None) -> Obj | None:
        return await found(self.client, what, name, self.namespace if namespace is None else namespace)

    async def status_of(self, what: What, name: str) -> Obj:
        """The status, empty if there is none."""
        status: Obj = ((await self.find(what, name)) or {}).get("status") or {}
        return status

    async def listed(self, what: What, labels: str = "") -> list[Obj]:
        return (await self.client.list(what, self.namespace, labels=labels)).items

    async def told(self, *fields: str) -> list[tuple[Any, ...]]:
        """These fields of all events, oldest first."""
        found = (await self.client.list(EVENTS)).items
        found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [tuple(event.get(field) for field in fields) for event in found]

    async def bind(self, pod: Obj, node: str = "n") -> None:
        """Puts a pod on a node, so that deleting it takes its grace period."""
        name = pod["metadata"]["name"]
        binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
        await self.client.create(PODS, binding, self.namespace, name=name, subresource="binding")

    async def delete_pod(self, pod: Obj | str, *, grace: int | None = None) -> None:
        name = pod if isinstance(pod, str) else pod["metadata"]["name"]
        await self.client.delete(PODS, name, self.namespace, DeleteOptions(grace_period_seconds=grace))

    async def until(
        self, condition: Callable[[], Awaitable[Any]], said: str = "", seconds: float = 3600.0
    ) -> Any:
        """Returns what `condition` gives once that is true. AssertionError if it never is."""
        end, pause = self.clock.monotonic() + seconds, self.pause
        while not (found := await condition()):
            assert self.clock.monotonic() < end, f"{said}: not in {seconds:g} s: {await self.seen()}"
            await self.clock.sleep(pause)
            pause = min(pause * self.growth, 10.0)
        return found

    async def seen(self) -> Any:
        """What is said of a thing that did not happen."""
        return [pod.get("status") for pod in await self.listed(PODS)]

    async def settle(self, seconds: float = 1.0) -> None:
        """Lets everything happen that is going to."""
        await self.clock.sleep(seconds)

    async def quiet(self, seconds: float = 30.0) -> None:
        """Waits until nothing was written for so long."""
        await stories.quiet(self, seconds)


@asynccontextmanager
async def opened(
    make: Callable[[Api, VirtualClock], W], clock: VirtualClock, store: Store | None = None
) -> AsyncIterator[W]:
    """A world over an empty store; what runs in it ends with the block."""
    async with an_api(clock, store) as (api, _):
        world = make(api, clock)
        try:
            if world.namespace != NS:
                await world.client.create(NAMESPACES, {"metadata": {"name": world.namespace}})
            await world.prepare()
            yield world
        finally:
            await world.stop()


def play(
    make: Callable[[Api, VirtualClock], W],
    story: Callable[[W], Awaitable[T]],
    *,
    start: datetime = virtual.START,
    seed: int = 0,
) -> T:
    async def main(clock: VirtualClock) -> T:
        async with opened(make, clock) as world:
            return await story(world)

    return virtual.run(main, start=start, seed=seed)
