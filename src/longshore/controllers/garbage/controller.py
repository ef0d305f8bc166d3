"""The loop of the garbage collector: which object to look at, and when. All its state comes from the API."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from longshore.controllers.garbage.act import Actor
from longshore.controllers.garbage.backlog import Backlog
from longshore.controllers.garbage.decide import Owner, Plan, View, decide, pause
from longshore.controllers.garbage.graph import Graph, Node
from longshore.controllers.garbage.monitors import Monitors
from longshore.controllers.garbage.owners import Absent, Owners
from longshore.controllers.garbage.references import Identity, Reference
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanation
from longshore.machinery.queues.workers import run_workers

COMPONENT: Final = "garbage-collector-controller"
WORKERS: Final = 20
_QUEUE: Final = "garbage_collector_attempt_to_delete"
"""The name of upstream's queue, in metrics."""
_MISPLACED: Final = "OwnerRefInvalidNamespace"


async def run(context: ControllerContext) -> None:
    """Collects garbage until cancelled. Explains what was done about an object, and why."""
    await Collector(context).run()


class Collector:
    """Hears from its graph whom to look at, and looks. Nothing is done before all that exists is known."""

    def __init__(self, context: ControllerContext) -> None:
        client = context.client
        self._clock, self._explanations = context.clock, context.explanations
        self._recorder, self._queue = context.recorder(COMPONENT), context.queue(_QUEUE)
        self._workers = context.workers(WORKERS)
        self._backlog = Backlog(self._queue, room=2 * self._workers)
        self._absent = Absent()
        self.graph = Graph(self)
        self._owners = Owners(client, self.graph, self._absent)
        self._actor = Actor(client, self.graph)
        self._monitors = Monitors(context, self.graph, self._served_changed)
        self._polls: Counter[str] = Counter()
        """How often each virtual owner was found to exist, and each unknown kind not to, in a row."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._monitors.run())
            tasks.create_task(run_workers(self._queue, self._sync, count=self._workers))

    # ---- what the graph says

    def look(self, uid: str) -> None:
        self._queue.add(uid)

    def look_all(self, owner: str, dependents: list[str]) -> None:
        self._backlog.add(owner, dependents)

    def absent(self, identity: Identity) -> None:
        self._absent.add(identity)

    def misplaced(self, node: Node, ref: Reference) -> None:
        mine = node.identity
        about = {"kind": mine.kind, "apiVersion": mine.api_version, "name": mine.name, "uid": mine.uid}
        if mine.namespace:
            about["namespace"] = mine.namespace
        wrong = Identity(ref.api_version, ref.kind, mine.namespace, ref.name, ref.uid)
        text = f'ownerRef {wrong} does not exist in namespace "{mine.namespace}"'
        self._recorder.event(about, "Warning", _MISPLACED, text)

    def _served_changed(self) -> None:
        """A kind that was unknown may be known now."""
        for uid in self._polls:
            self._queue.add(uid)
        self._polls.clear()

    # ---- one object

    async def _sync(self, uid: str) -> float | None:
        await self._monitors.ready()
        try:
            node = self.graph.nodes.get(uid)
            if node is None:
                again = None
            elif node.virtual:
                again = await self._verify(node)
            else:
                again = await self._process(node)
        finally:
            self._backlog.feed()
        if again is None:
            self._polls.pop(uid, None)
        else:
            self._polls[uid] += 1
        return again

    async def _verify(self, owner: Node) -> float | None:
        """An owner that was named and not seen: asks for it wherever it is said to be.

        In how many seconds to ask again, as long as it is said to exist and does not show itself.
        """
        named: dict[tuple[Reference, str], list[str]] = {}
        for node in owner.dependents.values():
            for ref in node.refs:
                if ref.uid == owner.uid:
                    claim = ref._replace(blocks=False), node.namespace
                    named.setdefault(claim, []).append(node.uid)
        unseen = False
        for (ref, namespace), dependents in named.items():
            match await self._owners.state(ref, namespace):
                case Owner.DANGLING | Owner.WAITING:
                    self.look_all(owner.uid, dependents)
                case Owner.SOLID | Owner.UNKNOWN:
                    unseen = True
                case Owner.UNRESOLVABLE:
                    pass
        if unseen and owner.virtual and self.graph.nodes.get(owner.uid) is owner:
            return pause(self._polls[owner.uid])
        return None

    async def _process(self, node: Node) -> float | None:
        """Looks at one object. Most are left alone, and are too many to be explained."""
        view = await self._view(node)
        plan = decide(view)
        if plan.does_something:
            plan = await self._carry_out(node, view, plan)
        return plan.look_again

    async def _carry_out(self, node: Node, view: View, plan: Plan) -> Plan:
        problem = ""
        try:
            plan = await self._actor.act(node, view, plan)
        except Exception as err:  # told, whatever it is, and raised again
            problem = str(err) or repr(err)
            raise
        finally:
            assert node.resource is not None, "plans are made for objects that were seen"
            key = node.namespace, f"{node.resource.qualified}/{node.name}"
            now = self._clock.now().timestamp()
            self._explanations.add(key, Explanation(node.uid, now, plan.why, problem))
        return plan

    async def _view(self, node: Node) -> View:
        meta, refs = node.meta, node.refs
        if node.deleting:
            return View(
                meta,
                refs,
                dependents=len(node.dependents),
                blocking=node.blocking,
                deadlocked=not node.holding and self.graph.deadlocked(node),
            )
        owners = [await self._owners.state(ref, node.namespace) for ref in refs]
        return View(
            meta,
            refs,
            tuple(owners),
            dependents=len(node.dependents),
            deleting_dependents=Owner.WAITING in owners
            and any(dependent.in_foreground for dependent in node.dependents.values()),
            polls=self._polls[node.uid] if Owner.UNKNOWN in owners else 0,
        )
