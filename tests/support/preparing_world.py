"""A preparer over an API in memory and real directories, for tests of what pods get."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longshore.api.types import Obj
from longshore.client.local import LocalClient
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time.clock import RealClock
from longshore.node.preparing.preparer import Preparer
from longshore.node.preparing.types import NodeFacts, PreparedPod, Server
from longshore.node.runtime import Container
from support.api_in_memory import Server as ApiServer
from support.api_in_memory import api_in_memory

SERVER = Server("127.0.0.1", 6443, "a certificate\n")
NODE = NodeFacts("node-1", allocatable={"cpu": "4", "memory": "8Gi"}, user=0, group=0)


@dataclass(slots=True)
class World:
    api: ApiServer
    client: LocalClient
    preparer: Preparer
    root: Path

    async def create(self, kind: str, obj: Obj, namespace: str = "default", api_version: str = "v1") -> Obj:
        return await self.client.create((api_version, kind), obj, namespace)

    async def pod(self, *, name: str = "p", container: Obj | None = None, **spec: Any) -> Obj:
        """A stored pod with one container."""
        meta = spec.pop("metadata", {})
        first = {"name": "main", "image": "none", "command": ["true"], **(container or {})}
        spec = {"nodeName": NODE.name, "containers": [first], **spec}
        return await self.create("Pod", {"metadata": {"name": name, **meta}, "spec": spec})

    async def container(self, pod: Obj, prepared: PreparedPod | None = None, attempt: int = 0) -> Container:
        prepared = prepared or await self.preparer.pod(pod)
        return self.preparer.container(prepared, pod, pod["spec"]["containers"][0], attempt, "127.64.0.9")

    async def env(self, pod: Obj) -> dict[str, str]:
        return dict((await self.container(pod)).env)

    def another(self, **options: Any) -> Preparer:
        """A preparer with other facts about the node, the server, or where things lie."""
        chosen: dict[str, Any] = {"clock": RealClock(), "root": self.root, "server": SERVER, "node": NODE}
        chosen["in_thread"] = asyncio.to_thread
        return Preparer(self.client, **{**chosen, **options})


@asynccontextmanager
async def preparing(root: Path) -> AsyncIterator[World]:
    async with api_in_memory(with_tokens=True) as server:
        await server.client.create(("v1", "ServiceAccount"), {"metadata": {"name": "default"}}, "default")
        preparer = Preparer(
            server.client, clock=RealClock(), root=root, server=SERVER, node=NODE, in_thread=asyncio.to_thread
        )
        yield World(server, server.client, preparer, root)


class Hours(RealClock):
    """A clock on which every sleep takes no time, and an hour has passed after it."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    async def sleep(self, seconds: float) -> None:
        self.ahead += 3600.0
        await asyncio.sleep(0.02)


@asynccontextmanager
async def renewing(world: World, preparer: Preparer) -> AsyncIterator[asyncio.Task[None]]:
    """A preparer that works in the background: one that renews tokens and sweeps."""
    informers = Informers(world.client, clock=RealClock(), rng=random.Random(1))
    running = asyncio.create_task(preparer.run(informers))
    yield running
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
