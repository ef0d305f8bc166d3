"""The loop of the namespace controller: which namespace to sync, and when.

A plan is carried out in this order: status, deletes, finalizer. So a crash in between loses nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.time import rfc3339
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.controllers.namespace.decide import FINALIZER, LOOK_AGAIN_SECONDS, NamespacePlan, decide
from longshore.controllers.namespace.observe import Content, NamespaceView, Served, observe, wanted
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import SHORT_PAUSES, WorkQueue

_PAUSES: Final = Doubling(LOOK_AGAIN_SECONDS, 30.0)
"""Delays between failed syncs, since each writes its errors to the status."""
_BACKGROUND = DeleteOptions(propagation="Background")


class _Waker(OnChange):
    """Queues namespaces whose deletion begins. Writes of a sync cause no other sync."""

    def __init__(self, queue: WorkQueue[str], served: Served) -> None:
        super().__init__(self._terminates)
        self._queue, self._served = queue, served

    def on_update(self, old: Obj, new: Obj) -> None:
        if old is new or not wanted(old):
            super().on_update(old, new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        super().on_delete(obj, stale)
        self._served.forget(obj)

    def _terminates(self, obj: Obj) -> None:
        if wanted(obj):
            self._served.heard(obj)
            self._queue.add(obj["metadata"]["name"])


async def run(context: ControllerContext) -> None:
    """Empties terminating namespaces until cancelled."""
    client, queue = context.client, context.queue(pauses=SHORT_PAUSES)
    failures: dict[str, tuple[str, ...]] = {}
    """Errors of deletes in the last sync, by namespace; the next sync writes them to the status."""
    tries: Counter[str] = Counter()
    """Failed syncs in a row, by namespace."""
    served = Served()

    async def sync(name: str) -> float | None:
        now = rfc3339.from_moment(context.clock.now())
        view = await observe(client, name, now, failures.pop(name, ()), served)
        if view is None:
            del tries[name]
            return None
        plan = decide(view)
        with context.explaining(("", name), view.namespace, plan.why):
            failed = await _act(client, view, plan)
        if failed:
            failures[name] = failed
        elif plan.delete or not (view.failures or view.undiscovered):
            del tries[name]
            return plan.look_again
        tries[name] += 1
        return _PAUSES.after(tries[name])

    namespaces = context.informers.get(kinds.NAMESPACES)
    namespaces.add_handler(_Waker(queue, served))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(namespaces.run())
        tasks.create_task(run_workers(queue, sync, count=context.workers))


async def _act(client: Client, view: NamespaceView, plan: NamespacePlan) -> tuple[str, ...]:
    """Carries out the plan and returns the errors of failed deletes."""
    namespace = view.namespace
    if plan.conditions is not None:
        status = {**(namespace.get("status") or {}), "conditions": plan.conditions}
        namespace = await client.update_status(kinds.NAMESPACES, {**namespace, "status": status})
    failures: list[str] = []
    for content in plan.delete:
        failures += await _delete(client, content, namespace["metadata"]["name"])
    if plan.finalize:
        spec = dict(namespace["spec"])
        spec["finalizers"] = [f for f in spec["finalizers"] if f != FINALIZER]
        await client.update(kinds.NAMESPACES, {**namespace, "spec": spec}, subresource="finalize")
    return tuple(failures)


async def _delete(client: Client, content: Content, namespace: str) -> list[str]:
    if content.at_once:
        try:
            await client.delete_collection(content.what, namespace, _BACKGROUND)
        except StatusError as err:
            return [str(err)]
        return []
    failures = []
    for obj in content.objects:
        try:
            await client.delete(content.what, obj["metadata"]["name"], namespace, _BACKGROUND)
        except StatusError as err:
            if err.code != 404:
                failures.append(str(err))
    return failures
