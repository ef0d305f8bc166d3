"""A node for a plane that runs nothing: the real agent over a scripted engine.

    node = ScriptedNode(clock, lambda container: Run(seconds=30.0))
    node = ScriptedNode(clock, Scripts(rng, [Rule("worker-*", (Exit(1, after="3s"), Exit(0)))]))
    async with plane.running(node):
        ...

Pods are admitted, started, probed, reported and removed by the code that does it in `longshore up`; only how
containers go is told by the script. Nothing is written to disk unless a run leaves logs or a termination
message, and then below `root`. Plays on any clock.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from longshore.api.types import Obj
from longshore.machinery.in_thread import inline
from longshore.machinery.time.clock import Clock
from longshore.node.agent import Agent
from longshore.node.archive import Archive
from longshore.node.capacity import Capacity
from longshore.node.probes import hooks
from longshore.node.runtime import Container, Key
from longshore.node.serving.followed_engine import Watched
from longshore.node.serving.node_access import Door
from longshore.plane.plane import Plane
from longshore.testing.pod_outcomes import Run
from longshore.testing.scripted_preparer import ScriptedPreparer
from longshore.testing.scripted_runtime import Exec, RunScript, ScriptedMachine, ScriptedRuntime
from longshore.testing.scripts import Scripts

CAPACITY: Final = Capacity({"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"})
_NOWHERE: Final = Path("a-scripted-node-has-no-directory")


class ScriptedNode:
    """A `NodeFactory`. `machine` survives the node: a second run of it finds what the first one started.

    `script` is a function of containers, or rules about pods.
    """

    def __init__(
        self,
        clock: Clock,
        script: RunScript | Scripts = lambda container: Run(),
        *,
        name: str = "node",
        capacity: Capacity = CAPACITY,
        root: Path = _NOWHERE,
    ) -> None:
        self.preparer = ScriptedPreparer(root)
        self.machine = ScriptedMachine(clock)
        if isinstance(script, Scripts):
            self._obey(script)
        else:
            self.machine.script = script
        self.name, self.capacity, self.root = name, capacity, root

    def _obey(self, rules: Scripts) -> None:
        pods = self.preparer.pods

        def run_of(container: Container) -> Run:
            return rules.run_of(pods[container.key.pod_uid], container.key.container)

        def answer(key: Key, command: tuple[str, ...]) -> Exec:
            return rules.answer_to(pods[key.pod_uid], key.container, command)

        self.machine.script, self.machine.execs = run_of, answer

    async def __call__(self, plane: Plane, ready: asyncio.Event) -> None:
        engine = Watched(ScriptedRuntime(self.machine))
        archive = Archive(self.root / "archive")
        plane.api.door = Door(self.name, (engine,), self.root, plane.clock, archive)
        agent = Agent(
            plane.wiring.context(plane.client, plane.wiring.reasons.teller("pod", "node")),
            name=self.name,
            runtimes={"process": engine},
            preparer=self.preparer,
            root=self.root,
            capacity=self.capacity,
            in_thread=inline,
            handle=self._handle,
            heartbeats=False,
        )
        await agent.run(ready=ready)

    async def _handle(self, handler: Obj, target: hooks.Target) -> hooks.Result:
        """Hooks and probes: commands go as the machine says, the rest well, once the container is ready."""
        if "exec" in handler or "sleep" in handler:
            result = await hooks.run(handler, target)
            if not result.ok:
                return result
        state = self.machine.states.get(target.key)
        if state is not None and state.unready and handler is not target.spec.get("livenessProbe"):
            return hooks.Result(False, "the container is not ready yet, by its script")
        return hooks.Result(True)
