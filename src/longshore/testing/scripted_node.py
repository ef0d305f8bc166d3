"""A node that runs nothing: the real agent over a scripted runtime.

    node = ScriptedNode(clock, lambda container: Run(seconds=30.0))
    node = ScriptedNode(clock, Scripts(rng, [Rule("worker-*", (Exit(1, after="3s"), Exit(0)))]))
    async with plane.running(node):
        ...

The code of `longshore up` admits, starts, probes, reports and removes pods; the script only says how
containers run and end. Logs and termination messages are written below `root`; without a root they are
dropped. The clock may be real or virtual.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.apiserver.api import NodeParts
from longshore.client import Client
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.in_thread import inline
from longshore.machinery.informers.informer import Handler, Informers
from longshore.machinery.time.clock import Clock
from longshore.node import eviction
from longshore.node.agent import Agent
from longshore.node.archive import Archive
from longshore.node.capacity import Capacity
from longshore.node.preparing.types import PreparedPod
from longshore.node.probes import hooks
from longshore.node.runtime import Container, Key, Runtime
from longshore.node.serving.followed_runtime import FollowedRuntime
from longshore.node.serving.node_access import NodeAccess
from longshore.plane.plane import Plane
from longshore.scripts.pod_rules import Scripts
from longshore.scripts.runs import Chance, Exec, Outcome, Run, chosen
from longshore.testing.scripted_runtime import RunScript, ScriptedMachine, ScriptedRuntime

CAPACITY: Final = Capacity({"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"})
SUCCEEDS: Final = Run()
_NOWHERE: Final = Path("a-scripted-node-has-no-directory")


class ScriptedNode:
    """A `NodeFactory`. `machine` outlives a run of the node: the next run finds the containers of the last.

    `script` is a function of containers, rules about pods, or one run for all. `given` is a Node with labels
    and taints, which is created before the agent starts."""

    def __init__(
        self,
        clock: Clock,
        script: RunScript | Scripts | Outcome = SUCCEEDS,
        *,
        name: str = "node",
        capacity: Capacity = CAPACITY,
        root: Path | None = None,
        given: Obj | None = None,
    ) -> None:
        self.root = root
        self.preparer = ScriptedPreparer(root)
        self.machine = ScriptedMachine(clock)
        if isinstance(script, Scripts):
            self._obey(script)
        elif isinstance(script, Run | Chance):
            self.machine.script = lambda container: chosen(script, self.machine.rng)
        else:
            self.machine.script = script
        self.name, self.capacity, self._given = name, capacity, given
        self.started: Callable[[Container, Run], None] = lambda container, run: None
        """Called at each start of a pod's first container, if `script` is a `Scripts`."""
        self.agent: Agent | None = None
        """The latest agent."""
        self._running: asyncio.Future[None] | None = None
        self._repaired = asyncio.Event()
        self._repaired.set()

    def _obey(self, rules: Scripts) -> None:
        pods = self.preparer.pods

        def run_of(container: Container) -> Run:
            pod = pods[container.key.pod_uid]
            run = rules.run_of(pod, container.key.container)
            if container.key.container == pod["spec"]["containers"][0]["name"]:
                self.started(container, run)
            return run

        def answer(key: Key, command: tuple[str, ...]) -> Exec:
            return rules.answer_to(pods[key.pod_uid], key.container, command)

        self.machine.script, self.machine.execs = run_of, answer

    async def create(self, client: Client) -> None:
        """Creates the Node that was given, before its agent does."""
        if self._given is not None:
            typed = "uid" not in self._given["metadata"]  # a newer server may store unknown fields
            await client.create(kinds.NODES, {**self._given, "status": {}}, strict=typed)

    async def __call__(self, plane: Plane, ready: asyncio.Event) -> None:
        await self.run(plane, ready)

    async def run(self, plane: Plane, ready: asyncio.Event, pods: PodsByNode | None = None) -> None:
        """Runs until cancelled; a machine that fails and is repaired gets a new agent. With `pods` the agent
        gets its pods from there, and the API serves neither its logs nor commands."""
        plane.wiring.local_nodes.add(self.name)
        while True:
            agent = self._agent_of(plane, pods)
            self._running = asyncio.ensure_future(agent.run(ready=ready))
            try:
                await self._running
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not self.is_down or (task is not None and task.cancelling()):
                    raise
            await self._repaired.wait()

    def _agent_of(self, plane: Plane, pods: PodsByNode | None) -> Agent:
        runtime: Runtime = ScriptedRuntime(self.machine)
        if pods is None:
            runtime = followed = FollowedRuntime(runtime)
            root = self.root or _NOWHERE
            door = NodeAccess(self.name, (followed,), root, plane.clock, Archive(root / "archive"))
            plane.api.use_node(NodeParts(door))
        return self.new_agent(
            plane.wiring.context(plane.client, plane.wiring.reasons.teller("pod", "node")),
            runtimes={"process": runtime},
            hears=None if pods is None else pods.of(self.name),
        )

    def new_agent(self, context: ControllerContext, **parts: Any) -> Agent:
        """Makes the node's next agent, which works with any API. `parts` replace scripted parts."""
        scripted: dict[str, Any] = {
            "runtimes": {"process": ScriptedRuntime(self.machine)},
            "in_thread": inline,
            "handle": self._handle,
            "heartbeats": False,
            "tells_unused_images": False,
        }
        self.agent = Agent(
            context,
            name=self.name,
            preparer=self.preparer,
            root=self.root or _NOWHERE,
            capacity=self.capacity,
            **{**scripted, **parts},
        )
        return self.agent

    @property
    def is_busy(self) -> bool:
        """Whether a container will end by itself, waits for its next start, or is being stopped."""
        lives = self.agent.lives.values() if self.agent is not None else ()
        return self.machine.is_busy or any(
            life.timer is not None and life.memory.unstartable_since is None for life in lives
        )

    # ---- troubles

    def evict(self, key: Key, message: str) -> None:
        """Evicts the pod of a container that still runs."""
        state = self.machine.states.get(key)
        life = self.agent.lives.get(key.pod_uid) if self.agent is not None else None
        if (
            self.agent is not None
            and life is not None
            and state is not None
            and state.phase == "running"
            and life.memory.verdict is None
            and life.memory.deleting is None
            and not life.final
        ):
            self.agent.evict(life, eviction.verdict(message))

    @property
    def is_down(self) -> bool:
        return not self._repaired.is_set()

    def fail(self) -> None:
        """The machine fails: its containers are lost, and its agent stops."""
        self.machine.lose()
        self._repaired.clear()
        if self._running is not None:
            self._running.cancel()

    def repair(self) -> None:
        """The machine works again, with a new agent."""
        self._repaired.set()

    async def _handle(self, handler: Obj, target: hooks.Target) -> hooks.HookResult:
        """Runs hooks and probes: the machine's script decides about commands; other handlers succeed once the
        container is ready."""
        if "exec" in handler or "sleep" in handler:
            result = await hooks.run(handler, target)
            if not result.ok:
                return result
        state = self.machine.states.get(target.key)
        if state is not None and state.unready and handler is not target.spec.get("livenessProbe"):
            return hooks.HookResult(False, "the container is not ready yet, by its script")
        return hooks.HookResult(True)


class PodsByNode(Handler):
    """Passes each pod to the agent of its node, so that many agents need only one handler of pods."""

    def __init__(self, informers: Informers) -> None:
        self._pods = informers.get(kinds.PODS)
        self._by_node: dict[str, Handler] = {}

    async def run(self) -> None:
        self._pods.add_handler(self)
        await self._pods.run()

    def of(self, node: str) -> Callable[[Handler], None]:
        """Returns a function that registers the handler of a node and passes it the cached pods at once."""

        def add(handler: Handler) -> None:
            self._by_node[node] = handler
            for pod in self._pods.cache.facts():
                handler.on_add(pod, True)

        return add

    def on_add(self, obj: Obj, initial: bool) -> None:
        if (handler := self._by_node.get(obj["spec"].get("nodeName"))) is not None:
            handler.on_add(obj, initial)

    def on_update(self, old: Obj, new: Obj) -> None:
        handler = self._by_node.get(new["spec"].get("nodeName"))
        if handler is not None and (not pod_state.has_ended(old) or "deletionTimestamp" in new["metadata"]):
            handler.on_update(old, new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        if (handler := self._by_node.get(obj["spec"].get("nodeName"))) is not None:
            handler.on_delete(obj, stale)


class ScriptedPreparer:
    """Implements `node.preparing.types.Preparation`. Creates no files below `root`; without a root,
    containers have no paths for files, and pods are prepared in the same turn of the loop."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self.pods: dict[str, Obj] = {}
        """The prepared pods by uid, each as it was at the last start of one of its containers."""
        self.removed: list[str] = []
        """Uids of pods whose files were to be removed, in order."""
        self.refuse: Callable[[Obj], None] = lambda pod: None
        """Hook that may raise `NotReady` or `CannotPrepare` for a pod."""
        self.refuse_container: Callable[[Obj, str], None] = lambda pod, name: None
        """Hook that may raise `NotReady` or `CannotPrepare` for one container of a pod."""

    async def run(self, informers: Informers) -> None:
        await asyncio.get_running_loop().create_future()

    def at_once(self, pod: Obj) -> PreparedPod | None:
        """Prepares a pod at once; returns None with a `root`, because that takes a turn of the loop."""
        if self.root is not None:
            return None
        self.refuse(pod)
        return PreparedPod(pod["metadata"]["uid"])

    async def pod(self, pod: Obj) -> PreparedPod:
        self.refuse(pod)
        return PreparedPod(pod["metadata"]["uid"])

    def container(self, prepared: PreparedPod, pod: Obj, spec: Obj, attempt: int, pod_ip: str) -> Container:
        self.refuse_container(pod, spec["name"])
        meta = pod["metadata"]
        self.pods[meta["uid"]] = pod
        logs, message = "", None
        if self.root is not None:
            name = f"{meta['namespace']}_{meta['name']}_{meta['uid']}"
            logs = f"{self.root}/logs/{name}/{spec['name']}/{attempt}.log"
            message = f"{self.root}/{meta['uid']}/{spec['name']}/{attempt}"
        return Container(
            Key(meta["uid"], spec["name"], attempt),
            meta["namespace"],
            meta["name"],
            spec.get("image") or "",
            command=tuple(spec.get("command") or ()),
            log=logs,
            termination_message=message,
        )

    async def refresh(self, prepared: PreparedPod, pod: Obj) -> None: ...

    def stopped(self, pod_uid: str) -> None: ...

    async def remove(self, pod_uid: str) -> None:
        self.removed.append(pod_uid)
        self.pods.pop(pod_uid, None)

    async def known(self) -> set[str]:
        return set()
