"""A node that may die: the real agent over an engine that is cut off from its machine at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from longshore.client import Client
from longshore.machinery.in_thread import inline
from longshore.node.agent import Agent
from longshore.node.capacity import Capacity
from longshore.node.runtime import Container, ContainerState, Key
from longshore.plane.wiring import Wiring
from longshore.testing import ScriptedMachine, ScriptedPreparer, ScriptedRuntime

_NOWHERE: Final = Path("a-simulated-node-has-no-directory")


class Life:
    """Of one process. What it would still do when it is over reaches nobody."""

    def __init__(self) -> None:
        self.is_over = False


class MortalRuntime(ScriptedRuntime):
    def __init__(self, machine: ScriptedMachine, life: Life) -> None:
        super().__init__(machine)
        self._life = life

    async def open(self, changed: Callable[[ContainerState], None]) -> list[ContainerState]:
        return await super().open(lambda state: None if self._life.is_over else changed(state))

    async def start(self, container: Container) -> ContainerState:
        await self._live_on()
        return await super().start(container)

    async def signal(self, key: Key, number: int) -> None:
        await self._live_on()
        await super().signal(key, number)

    async def remove(self, keys: Iterable[Key]) -> None:
        await self._live_on()
        await super().remove(keys)

    async def close(self, *, kill: bool) -> None:
        if not self._life.is_over:
            await super().close(kill=kill)

    async def _live_on(self) -> None:
        if self._life.is_over:
            await asyncio.get_running_loop().create_future()


async def run(
    client: Client, wiring: Wiring, name: str, machine: ScriptedMachine, life: Life, *, cpus: int
) -> None:
    """Runs a node until cancelled."""
    capacity = Capacity({"cpu": str(cpus), "memory": "8Gi", "ephemeral-storage": "9Gi", "pods": "30"})
    runtimes: dict[str, Any] = {"process": MortalRuntime(machine, life)}
    agent = Agent(
        wiring.context(client, wiring.reasons.teller("pod", "node")),
        name=name,
        runtimes=runtimes,
        preparer=ScriptedPreparer(_NOWHERE),
        root=_NOWHERE,
        capacity=capacity,
        in_thread=inline,
    )
    await agent.run(ready=asyncio.Event())
