"""A node on the virtual clock: API in memory, the agent, a scripted engine on a machine that outlives it."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Client
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.node import agent
from longshore.node.archive import Archive
from longshore.node.capacity import Capacity
from longshore.node.disk_pressure import Free
from longshore.node.probes import hooks
from longshore.node.runtime import Container, Runtime
from longshore.testing.scripted_node import ScriptedNode
from longshore.testing.scripted_runtime import Run, RunScript, ScriptedRuntime
from longshore.testing.stories import beside
from support import world
from support.world import NAMESPACES, NS, PODS

NODE = "here"
CAPACITY = Capacity({"cpu": "4", "memory": "8Gi", "ephemeral-storage": "10Gi", "pods": "50"})


class World(world.World):
    pause, growth = 0.05, 1.0

    def __init__(self, api: Api, clock: VirtualClock, script: RunScript, root: Path) -> None:
        super().__init__(api, clock)
        self.root = root
        self.node = ScriptedNode(clock, script, name=NODE, capacity=CAPACITY, root=root)
        self.machine, self.preparer = self.node.machine, self.node.preparer
        self.free: Callable[[], Free | None] = lambda: None
        self.archive: Archive | None = None
        self.on_stop: agent.OnStop = "keep"
        self.runtimes: dict[str, Runtime] = {}
        self.agent: agent.Agent | None = None
        self.informers: Informers | None = None
        """Those of others in the process; None follows alone."""

    async def prepare(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": "kube-node-lease"}})

    async def run_agent(self, client: Client | None = None, ready: asyncio.Event | None = None) -> None:
        """Runs an agent until cancelled; each call is a new process on the same machine."""
        shared = None if self.informers is None else self.informers.share()
        self.agent = self.node.new_agent(
            self.context(client, rng=random.Random(1), informers=shared, explanations=self.explanations),
            runtimes=self.runtimes or {"process": ScriptedRuntime(self.machine)},
            handle=hooks.run,
            heartbeats=True,
            tells_unused_images=True,
            in_thread=asyncio.to_thread,
            free=self.free,
            archive=self.archive,
        )
        await self.agent.run(on_stop=self.on_stop, ready=ready)

    async def create(self, pod: Obj | None = None, **spec: Any) -> Obj:
        return await self.client.create(PODS, pod if pod is not None else a_pod(**spec), NS)

    async def get(self, name: str = "p") -> Obj | None:
        return await self.find(PODS, name)

    async def status(self, name: str = "p") -> Obj:
        pod = await self.get(name)
        assert pod is not None, f"{name} is gone"
        status: Obj = pod.get("status") or {}
        return status

    async def phase(self, *wanted: str, name: str = "p", seconds: float = 3600.0) -> Obj:
        """Waits for one of these phases; the status then."""

        async def there() -> Obj | None:
            found = await self.status_of(PODS, name)
            return found if found.get("phase") in wanted else None

        status: Obj = await self.until(there, f"{name}: {wanted}", seconds)
        return status

    async def gone(self, name: str = "p", seconds: float = 3600.0) -> None:
        async def there() -> bool:
            return await self.get(name) is None

        await self.until(there, f"{name} is gone", seconds)

    async def events(self, *fields: str) -> list[Any]:
        """(reason, message) of all events, oldest first, or other fields."""
        await self.clock.sleep(1.0)
        return await self.told(*(fields or ("reason", "message")))


def a_pod(
    name: str = "p",
    *,
    containers: list[Obj] | None = None,
    annotations: dict[str, str] | None = None,
    restart: str = "Never",
    **spec: Any,
) -> Obj:
    """A pod that is bound to the node already."""
    meta: Obj = {"name": name}
    if annotations:
        meta["annotations"] = annotations
    found = [{"image": "i", "command": ["c"], **c} for c in containers or [{"name": "main"}]]
    for part in ("initContainers",):
        if part in spec:
            spec[part] = [{"image": "i", "command": ["c"], **c} for c in spec[part]]
    return {
        "metadata": meta,
        "spec": {"nodeName": NODE, "restartPolicy": restart, "containers": found, **spec},
    }


@asynccontextmanager
async def a_world(clock: VirtualClock, script: RunScript | None = None) -> AsyncIterator[World]:
    """An API and a machine, without an agent."""
    with tempfile.TemporaryDirectory() as root:
        make = partial(World, script=script or (lambda container: Run()), root=Path(root))
        async with world.opened(make, clock) as made:
            yield made


@asynccontextmanager
async def agent_of(world: World) -> AsyncIterator[None]:
    ready = asyncio.Event()
    async with beside(world.run_agent(ready=ready)):
        await ready.wait()
        yield


def told(
    story: Callable[[World], Awaitable[None]],
    script: RunScript | None = None,
    *,
    before: Callable[[World], None] = lambda world: None,
) -> None:
    """Runs a story on a node, in virtual time; `before` sets the world up."""

    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, script) as world:
            before(world)
            async with agent_of(world):
                await story(world)

    virtual.run(play)


def scripted(**runs: Run | list[Run]) -> RunScript:
    """By container; of a list each attempt takes its own, and the last goes on for ever."""

    def script(container: Container) -> Run:
        found = runs.get(container.key.container, Run())
        return found if isinstance(found, Run) else found[min(container.key.attempt, len(found) - 1)]

    return script
