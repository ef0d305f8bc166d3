"""A node on the virtual clock: API in memory, the agent, a scripted engine on a machine that outlives it."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Client
from longshore.client.local import LocalClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanations
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.node import agent
from longshore.node.archive import Archive
from longshore.node.capacity import Capacity
from longshore.node.disk_pressure import Free
from longshore.node.runtime import Container, Runtime
from longshore.testing.scripted_node import ScriptedPreparer
from longshore.testing.scripted_runtime import Run, RunScript, ScriptedMachine, ScriptedRuntime
from longshore.testing.stories import NS, an_api
from support.found import found

PODS = ("v1", "Pod")
NODE = "here"
CAPACITY = Capacity({"cpu": "4", "memory": "8Gi", "ephemeral-storage": "10Gi", "pods": "50"})


class World:
    def __init__(
        self, api: Api, client: LocalClient, clock: VirtualClock, root: Path, script: RunScript
    ) -> None:
        self.api, self.client, self.clock, self.root = api, client, clock, root
        self.machine = ScriptedMachine(clock, script)
        self.preparer = ScriptedPreparer(root)
        self.explanations = Explanations()
        self.capacity = CAPACITY
        self.free: Callable[[], Free | None] = lambda: None
        self.archive: Archive | None = None
        self.on_stop: agent.OnStop = "keep"
        self.runtimes: dict[str, Runtime] = {}
        self.agent: agent.Agent | None = None
        self.informers: Informers | None = None
        """Those of others in the process; None follows alone."""

    async def run_agent(self, client: Client | None = None, ready: asyncio.Event | None = None) -> None:
        """Runs an agent until cancelled; each call is a new process on the same machine."""
        client = client or self.client
        self.agent = agent.Agent(
            ControllerContext(
                client,
                clock=self.clock,
                rng=random.Random(1),
                informers=None if self.informers is None else self.informers.share(),
                explanations=self.explanations,
            ),
            name=NODE,
            runtimes=self.runtimes or {"process": ScriptedRuntime(self.machine)},
            preparer=self.preparer,
            root=self.root,
            capacity=self.capacity,
            in_thread=asyncio.to_thread,
            free=self.free,
            archive=self.archive,
        )
        await self.agent.run(on_stop=self.on_stop, ready=ready)

    async def create(self, pod: Obj | None = None, **spec: Any) -> Obj:
        return await self.client.create(PODS, pod if pod is not None else a_pod(**spec), NS)

    async def get(self, name: str = "p") -> Obj | None:
        return await found(self.client, PODS, name, NS)

    async def status(self, name: str = "p") -> Obj:
        pod = await self.get(name)
        assert pod is not None, f"{name} is gone"
        status: Obj = pod.get("status") or {}
        return status

    async def until(self, condition: Callable[[], Awaitable[Any]], seconds: float = 3600.0) -> Any:
        end = self.clock.monotonic() + seconds
        while not (found := await condition()):
            assert self.clock.monotonic() < end, (
                f"did not happen in {seconds:g} s: {((await self.get()) or {}).get('status')}"
            )
            await self.clock.sleep(0.05)
        return found

    async def phase(self, *wanted: str, name: str = "p", seconds: float = 3600.0) -> Obj:
        """Waits for one of these phases; the status then."""

        async def there() -> Obj | None:
            pod = await self.get(name)
            found = (pod or {}).get("status") or {}
            return found if found.get("phase") in wanted else None

        status: Obj = await self.until(there, seconds)
        return status

    async def gone(self, name: str = "p", seconds: float = 3600.0) -> None:
        async def there() -> bool:
            return await self.get(name) is None

        await self.until(there, seconds)

    async def events(self, *fields: str) -> list[Any]:
        """(reason, message) of all events, oldest first, or other fields."""
        await self.clock.sleep(1.0)
        found = (await self.client.list(("v1", "Event"), NS)).items
        found.sort(key=lambda e: int(e["metadata"]["resourceVersion"]))
        return [tuple(e.get(f) for f in fields or ("reason", "message")) for e in found]


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
    async with an_api(clock) as (api, client):
        await client.create(("v1", "Namespace"), {"metadata": {"name": "kube-node-lease"}})
        with tempfile.TemporaryDirectory() as root:
            yield World(api, client, clock, Path(root), script or (lambda container: Run()))


@asynccontextmanager
async def agent_of(world: World) -> AsyncIterator[None]:
    """The agent runs beside the block."""
    ready = asyncio.Event()
    task = asyncio.create_task(world.run_agent(ready=ready))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        waiting.cancel()
        task.result()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled() and (err := task.exception()) is not None:
            raise err


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
