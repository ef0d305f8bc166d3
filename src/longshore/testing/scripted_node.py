"""A node for a plane that runs nothing: the real agent over a scripted engine.

    node = ScriptedNode(clock, lambda container: Run(seconds=30.0))
    async with plane.running(node):
        ...

Pods are admitted, started, probed, reported and removed by the code that does it in `longshore up`; only how
containers go is told by the script. Nothing is written to disk unless a run leaves a termination message.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from longshore.machinery.in_thread import inline
from longshore.machinery.time.clock import Clock
from longshore.node.agent import Agent
from longshore.node.capacity import Capacity
from longshore.plane.plane import Plane
from longshore.testing.scripted_preparer import ScriptedPreparer
from longshore.testing.scripted_runtime import Run, RunScript, ScriptedMachine, ScriptedRuntime

CAPACITY: Final = Capacity({"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"})
_NOWHERE: Final = Path("a-scripted-node-has-no-directory")


class ScriptedNode:
    """A `NodeFactory`. `machine` survives the node: a second run of it finds what the first one started."""

    def __init__(
        self,
        clock: Clock,
        script: RunScript = lambda container: Run(),
        *,
        name: str = "node",
        capacity: Capacity = CAPACITY,
        root: Path = _NOWHERE,
    ) -> None:
        self.machine = ScriptedMachine(clock, script)
        self.name, self.capacity, self.root = name, capacity, root

    async def __call__(self, plane: Plane, ready: asyncio.Event) -> None:
        agent = Agent(
            plane.wiring.context(plane.client, plane.wiring.reasons.teller("pod", "node")),
            name=self.name,
            runtimes={"process": ScriptedRuntime(self.machine)},
            preparer=ScriptedPreparer(self.root),
            root=self.root,
            capacity=self.capacity,
            in_thread=inline,
        )
        await agent.run(ready=ready)
