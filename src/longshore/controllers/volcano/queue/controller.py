"""The loop of the queue controller: watches queues, PodGroups and Commands. Each queue has one worker.

The state is written by server-side apply, which leaves the rest of the status alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.client.projection import Projection
from longshore.controllers.volcano.queue import decide as deciding
from longshore.controllers.volcano.queue.decide import SYNC, QueuePlan, QueueView, decide, state_of
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.events.recorder import reference
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.queues.try_again import TryAgain
from longshore.machinery.queues.workers import OrderedQueues, run_workers
from longshore.machinery.queues.workqueue import WorkQueue

COMPONENT: Final = "vc-controller-manager"
_PHASES: Final = ("Pending", "Running", "Unknown", "Inqueue", "Completed")
READS: Final = {kinds.POD_GROUPS: Projection("spec.queue", "status.phase")}
_VERBS: Final = {deciding.OPEN: "Open", deciding.CLOSE: "Close"}
QueueRequest = tuple[str, str]
"""The name of a queue, and the action."""
_MANAGER: Final = "queue-controller"


async def run(context: ControllerContext) -> None:
    """Syncs queues until cancelled."""
    await QueueController(context).run()


def _parent(queue: Obj) -> tuple[str, ...]:
    return (deciding.parent_of(queue),)


def _name_of_queue(group: Obj) -> str:
    name: str = (group.get("spec") or {}).get("queue", "")
    return name


def _queue(group: Obj) -> tuple[str, ...]:
    return (_name_of_queue(group),)


def _phase(group: Obj) -> tuple[str, ...]:
    return (f"{_name_of_queue(group)}/{(group.get('status') or {}).get('phase', '')}",)


class QueueController(Handler):
    def __init__(self, context: ControllerContext) -> None:
        self._context, self._recorder = context, context.recorder(COMPONENT)
        informers = context.informers
        self._queues = informers.get(kinds.QUEUES, indexers={"parent": _parent})
        indexers = {"queue": _queue, "phase": _phase}
        self._groups = informers.get(kinds.POD_GROUPS, indexers=indexers, reads=READS[kinds.POD_GROUPS])
        commands = informers.get(kinds.COMMANDS)
        self._requests: OrderedQueues[QueueRequest] = OrderedQueues(
            partial(context.queue, "volcano_queue"), context.workers, lambda request: request[0]
        )
        self._orders = context.queue()
        self._commands = _Commands(context.client, commands, self._orders, self._issued)
        self._gauges = {
            phase: context.registry.gauge(
                f"volcano_queue_pod_group_{phase.lower()}_count",
                f"The number of {phase} PodGroups in this queue",
                ("queue_name",),
            )
            for phase in _PHASES
        }
        self._queues.add_handler(self)
        self._groups.add_handler(_Groups(self))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._context.informers.run())
            await self._queues.synced()
            await self._groups.synced()
            tasks.create_task(self._requests.run(self._sync))
            tasks.create_task(run_workers(self._orders, self._commands.sync))

    def ask(self, name: str, action: str) -> None:
        request = (name, action)
        self._requests.queue_of(request).add(request)

    def group_changed(self, name: str) -> None:
        """Syncs the queue if it is Closing: it may have lost its last PodGroup."""
        queue = self._queues.cache.get("", name)
        if queue is not None and state_of(queue) == "Closing":
            self.ask(name, SYNC)

    def on_add(self, obj: Obj, initial: bool) -> None:
        name = obj["metadata"]["name"]
        for phase, gauge in self._gauges.items():
            gauge.ask(partial(self._groups.cache.index_size, "phase", f"{name}/{phase}"), name)
        self.ask(name, SYNC)

    def on_update(self, old: Obj, new: Obj) -> None:
        """Also syncs a queue that becomes Closing: it may have lost its last PodGroup before that."""
        moved = deciding.parent_of(old) != deciding.parent_of(new)
        begins = state_of(new) == "Closing" != state_of(old)
        is_resync = old is new
        if is_resync or moved or begins or not state_of(new):
            self.ask(new["metadata"]["name"], SYNC)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        for gauge in self._gauges.values():
            gauge.remove(obj["metadata"]["name"])

    def _issued(self, name: str, action: str) -> None:
        queue = self._queues.cache.get("", name)
        if queue is not None:
            self._recorder.announce(reference(queue, kinds.QUEUES), "CommandIssued", action=action)
        self.ask(name, action)

    async def _sync(self, request: QueueRequest) -> float | None:
        """Decides by the cached queue; if there is anything to do, reads the queue and decides again."""
        name, action = request
        cached = self._queues.cache.get("", name)
        if cached is None:
            return None
        if action == SYNC and not (plan := self._plan(cached, action)).acts:
            self._context.explain(key_of(cached), cached, plan.why)
            return plan.look_again
        try:
            queue = await self._context.client.get(kinds.QUEUES, name)
        except StatusError as err:
            if err.code != 404:
                self._failed(request, cached, err)
            return None
        plan = self._plan(queue, action)
        problem: Exception | None = TryAgain(plan.why[0].event.message) if plan.is_refused else None
        try:
            await _act(plan, queue, self._context.client)
        except StatusError as err:
            problem = err
        self._context.explain(key_of(queue), queue, plan.why, problem)
        if problem is not None:
            if not (isinstance(problem, StatusError) and problem.code == 404):
                self._failed(request, cached, problem)
            return None
        if verb := _VERBS.get(plan.event):
            ref = reference(queue, kinds.QUEUES)
            self._recorder.announce(ref, "QueueActed", action=action, verb=verb)
        for other, what in plan.ask:
            self.ask(other, what)
        return plan.look_again

    def _plan(self, queue: Obj, action: str) -> QueuePlan:
        name, cache = queue["metadata"]["name"], self._queues.cache
        parent = cache.get("", deciding.parent_of(queue) or deciding.ROOT)
        groups = self._groups.cache.index_size("queue", name)
        return decide(QueueView(queue, parent, cache.by_index("parent", name), groups), action)

    def _failed(self, request: QueueRequest, queue: Obj, err: Exception) -> None:
        """Retries, up to a limit, since the action may never become possible."""
        if not self._context.limits.gives_up(self._requests.queue_of(request).requeues(request) + 1):
            raise err
        ref = reference(queue, kinds.QUEUES)
        self._recorder.announce(ref, "QueueNotActed", action=request[1], problem=err)


class _Groups(Handler):
    """Reports deleted PodGroups to the controller."""

    def __init__(self, controller: QueueController) -> None:
        self._controller = controller

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._controller.group_changed(_name_of_queue(obj))


class _Commands(Handler):
    """Commands for queues. Each is deleted before it is carried out, so that it is executed at most once."""

    def __init__(
        self, client: Client, commands: Informer, queue: WorkQueue[Key], issued: Callable[[str, str], None]
    ) -> None:
        """`issued` is called with the name of a queue and the action."""
        self._client, self._commands, self._queue, self._issued = client, commands, queue, issued
        commands.add_handler(self)

    def on_add(self, obj: Obj, initial: bool) -> None:
        target = obj.get("target") or {}
        group = (target.get("apiVersion") or "").partition("/")[0]
        if target.get("kind") == "Queue" and group == "scheduling.volcano.sh":
            self._queue.add(key_of(obj))

    async def sync(self, key: Key) -> float | None:
        """Takes one Command. If it no longer exists, another controller took it, or it was withdrawn."""
        command = self._commands.cache.get(*key)
        if command is None:
            return None
        try:
            await self._client.delete(kinds.COMMANDS, key[1], key[0])
        except StatusError as err:
            if err.code == 404:
                return None
            raise
        self._issued(command["target"].get("name") or "", command.get("action") or "")
        return None


async def _act(plan: QueuePlan, queue: Obj, client: Client) -> None:
    """Makes all writes of a plan, in order. A queue in state Closing accepts only a write of its state."""
    name = queue["metadata"]["name"]
    for child in plan.mark_children:
        await _mark(client, child, "true")
    if plan.state is not None:
        state = {"metadata": {"name": name}, "status": {"state": plan.state}}
        await client.apply(kinds.QUEUES, state, manager=_MANAGER, force=True, subresource="status")
    if plan.adopt:
        await client.patch(kinds.QUEUES, name, {"spec": {"parent": deciding.ROOT}}, manager=_MANAGER)
    if plan.mark is not None:
        await _mark(client, name, plan.mark)


async def _mark(client: Client, name: str, value: str) -> None:
    await client.patch(
        kinds.QUEUES, name, {"metadata": {"annotations": {deciding.MARK: value}}}, manager=_MANAGER
    )
