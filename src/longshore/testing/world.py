"""One scripted world: a control plane with nodes that run nothing, on one clock and from one seed.

    async def story(clock: VirtualClock) -> None:
        async with World(clock, Run(30.0)).running() as world:
            await world.client.create(("batch/v1", "Job"), job, "default")

Nodes are the real agent over a scripted runtime (`scripted_node.py`). `Cluster` is a world with HTTP and a
thread (`installation.py`), `longshore sim` one without.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from longshore.api import cron
from longshore.apiserver.api import Api
from longshore.client import Client
from longshore.controllers.volcano.plugins import KeyPair
from longshore.machinery.time.clock import Clock
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.controllers import CONTROLLERS
from longshore.plane.plane import NodeFactory, Parts, Plane
from longshore.scripts.pod_rules import Scripts
from longshore.scripts.runs import Outcome
from longshore.store import Store
from longshore.testing.scripted_node import SUCCEEDS, PodsByNode, ScriptedNode
from longshore.testing.scripted_runtime import RunScript
from longshore.testing.troubles import NO_TROUBLES, NodeTroubles, Troubles


class World:
    """A plane with its nodes. `script` says how pods run and end, unless `nodes` have their own scripts.
    `api` and `client` are those of `Plane`. With `serves` a single node serves logs and commands. `more` are
    further fields of `Parts`."""

    def __init__(
        self,
        clock: Clock,
        script: RunScript | Scripts | Outcome = SUCCEEDS,
        *,
        rng: random.Random | None = None,
        seed: int = 0,
        store: Store | None = None,
        nodes: Sequence[ScriptedNode] | None = None,
        troubles: Troubles = NO_TROUBLES,
        api: Api | None = None,
        client: Client | None = None,
        controllers: Sequence[str] = tuple(CONTROLLERS),
        zone: cron.Zone = cron.UTC,
        serves: bool = True,
        **more: Any,
    ) -> None:
        dice = rng or (clock.rng if isinstance(clock, VirtualClock) else random.Random(seed))
        given = {"keys": SeededKeys(dice), "volumes": MemoryDirectories(), **more}
        self.clock, self._serves = clock, serves
        self.nodes = (ScriptedNode(clock, script),) if nodes is None else tuple(nodes)
        place = store or Store.open(None)
        parts = Parts(place, clock, dice, zone, controllers=tuple(controllers), **given)
        self.plane = Plane(parts, api, client)
        self.troubles = NodeTroubles(
            self.nodes, self.plane.client, clock, troubles, random.Random(f"troubles {seed}")
        )

    @property
    def client(self) -> Client:
        return self.plane.client

    @property
    def node(self) -> ScriptedNode:
        """The first node."""
        return self.nodes[0]

    @property
    def is_busy(self) -> bool:
        """Whether a container will end or restart by itself, or is being stopped."""
        return any(node.is_busy for node in self.nodes)

    @asynccontextmanager
    async def running(self, node: NodeFactory | None = None, *, is_new: bool = True) -> AsyncIterator[Self]:
        """Runs the plane and the nodes during the block. If the world `is_new`, its first objects are created
        before. `node` replaces the scripted nodes."""
        if is_new:
            await self.plane.prepare()
            for each in self.nodes:
                await each.create(self.client)
        run = node or (self._run_nodes if self.nodes else None)
        async with self.plane.running(run):
            self.troubles.begin()
            yield self

    async def _run_nodes(self, plane: Plane, ready: asyncio.Event) -> None:
        if len(self.nodes) == 1 and self._serves:
            await self.node(plane, ready)
            return
        pods = PodsByNode(plane.wiring.informers.share())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(pods.run())
            events = [asyncio.Event() for _ in self.nodes]
            for node, event in zip(self.nodes, events, strict=True):
                tasks.create_task(node.run(plane, event, pods))
            for event in events:
                await event.wait()
            ready.set()


class SeededKeys:
    """Makes keys from `rng`: the same seed gives the same keys."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    async def rsa(self, bits: int) -> KeyPair:
        number = f"{self._rng.getrandbits(bits):x}"
        private = f"-----BEGIN RSA PRIVATE KEY-----\n{number}\n-----END RSA PRIVATE KEY-----\n"
        return KeyPair(private, f"ssh-rsa {number[:32]}\n")


class MemoryDirectories:
    """Returns paths below `root`, and creates nothing there."""

    def __init__(self, root: str = "/volumes") -> None:
        self.made: set[str] = set()
        """Names of the volumes that have a directory."""
        self._root = root

    def path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def make(self, name: str) -> str:
        self.made.add(name)
        return self.path(name)

    async def remove(self, name: str) -> None:
        self.made.discard(name)
