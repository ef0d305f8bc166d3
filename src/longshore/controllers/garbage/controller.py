"""The loop of the garbage collector: which object to sync, and when. All its state comes from the API."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable
from typing import Final

from longshore.controllers.garbage.act import GarbageActor
from longshore.controllers.garbage.decide import GarbagePlan, GarbageView, Owner, decide, pause
from longshore.controllers.garbage.graph import Graph, Node
from longshore.controllers.garbage.monitors import Monitors
from longshore.controllers.garbage.owners import Absent, Owners
from longshore.controllers.garbage.references import Identity, Reference
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanation
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue

COMPONENT: Final = "garbage-collector-controller"
_QUEUE: Final = "garbage_collector_attempt_to_delete"
"""Upstream's name of the queue in metrics."""
_MISPLACED: Final = "OwnerRefInvalidNamespace"


async def run(context: ControllerContext) -> None:
    """Collects garbage until cancelled. Records an explanation for each object that it acts on."""
    await Collector(context).run()


class Collector:
    """Syncs the objects that the graph names. Does nothing before the graph knows all objects."""

    def __init__(self, context: ControllerContext) -> None:
        client = context.client
        self._clock, self._explanations = context.clock, context.explanations
        self._recorder, self._queue = context.recorder(COMPONENT), context.queue(_QUEUE)
        self._workers = context.workers
        self._backlog = Backlog(self._queue, room=2 * self._workers)
        self._absent = Absent()
        self.graph = Graph(self)
        self._owners = Owners(client, self.graph, self._absent)
        self._actor = GarbageActor(client, self.graph)
        self._monitors = Monitors(context, self.graph, self._served_changed)
        self._polls: Counter[str] = Counter()
        """Polls in a row by uid: of virtual owners that exist, of objects whose owner's kind is unknown."""

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
        self._recorder.announce(about, _MISPLACED, owner=wrong, namespace=mine.namespace)

    def _served_changed(self) -> None:
        """Syncs the polled objects again: their kind may be served now."""
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
        """Asks the server for an owner that references name but no watch has shown, at each place they give.

        Returns the seconds until the next poll while the owner exists, or may exist, and no watch shows it.
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
        """Syncs one object. Records no explanation if nothing is done, since most objects are left alone."""
        view = await self._view(node)
        plan = decide(view)
        if plan.does_something:
            plan = await self._carry_out(node, view, plan)
        return plan.look_again

    async def _carry_out(self, node: Node, view: GarbageView, plan: GarbagePlan) -> GarbagePlan:
        problem = ""
        try:
            plan = await self._actor.act(node, view, plan)
        except Exception as err:  # explained, whatever it is, and raised again
            problem = str(err) or repr(err)
            raise
        finally:
            assert node.resource is not None, "plans are made for objects that were seen"
            key = node.namespace, f"{node.resource.qualified}/{node.name}"
            now = self._clock.now().timestamp()
            self._explanations.add(key, Explanation(node.uid, now, plan.why, problem))
        return plan

    async def _view(self, node: Node) -> GarbageView:
        meta, refs = node.meta, node.refs
        if node.deleting:
            return GarbageView(
                meta,
                refs,
                dependents=len(node.dependents),
                blocking=node.blocking,
                deadlocked=not node.holding and self.graph.deadlocked(node),
            )
        owners = [await self._owners.state(ref, node.namespace) for ref in refs]
        return GarbageView(
            meta,
            refs,
            tuple(owners),
            dependents=len(node.dependents),
            deleting_dependents=Owner.WAITING in owners
            and any(dependent.in_foreground for dependent in node.dependents.values()),
            polls=self._polls[node.uid] if Owner.UNKNOWN in owners else 0,
        )


class Backlog:
    """Keeps at most `room` keys in `queue`, taking one key of each deleted owner in turn.

    Without it, a Job with ten thousand pods would delay everything that is deleted after it."""

    def __init__(self, queue: WorkQueue[str], room: int) -> None:
        self._queue, self._room = queue, room
        self._turns: deque[tuple[str, deque[str]]] = deque()
        self._of: dict[str, deque[str]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, owner: str, dependents: Iterable[str]) -> None:
        """Adds dependents behind those of the same owner that already wait."""
        waiting = self._of.get(owner)
        if waiting is None:
            waiting = self._of[owner] = deque()
            self._turns.append((owner, waiting))
        waiting.extend(dependents)
        self.feed()

    def feed(self) -> None:
        """Fills the queue. Must be called whenever a worker has finished with a key."""
        while self._turns and len(self._queue) < self._room:
            owner, waiting = self._turns.popleft()
            if waiting:
                self._queue.add(waiting.popleft())
            if waiting:
                self._turns.append((owner, waiting))
            else:
                del self._of[owner]
