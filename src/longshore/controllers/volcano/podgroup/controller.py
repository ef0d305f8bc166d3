"""The loop of the pod group controller. It watches only pods of Volcano's scheduler, unless others in its
process follow all of them: then it hears with them.

ReplicaSets and StatefulSets are followed where the server has them: one that is scaled to nothing loses
its group, one that changes has it written again from its first pod.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from longshore.api.facts import kinds, owners
from longshore.api.types import Obj
from longshore.client import Client
from longshore.client.protocol import Packed
from longshore.controllers.volcano.podgroup.act import act, decided
from longshore.controllers.volcano.podgroup.decide import View, group_of
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer, OnChange
from longshore.machinery.queues.workers import run_workers

SCHEDULER: Final = "volcano"
WORKERS: Final = 5
_WORKLOADS: Final = (kinds.REPLICA_SETS, kinds.STATEFUL_SETS)
_QUEUE: Final = "volcano_podgroup"
_BY_OWNER: Final = "by the owner of a pod that may need a group"

Request = tuple[str, Key]
"""Kind, and which one."""


async def run(context: ControllerContext, *, namespace: str = "") -> None:
    """Makes PodGroups until cancelled."""
    workloads = {
        kind: context.informers.get((version, kind), namespace=namespace)
        for version, kind in _WORKLOADS
        if await _served(context.client, version, kind)
    }
    controller = PodGroupController(context, namespace, workloads)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(context.informers.run())
        tasks.create_task(run_workers(controller.queue, controller.sync, count=context.workers(WORKERS)))


async def _served(client: Client, version: str, kind: str) -> bool:
    try:
        await client.resource((version, kind))
    except LookupError:
        return False
    return True


def slim(pod: Obj) -> Obj:
    """A pod that has its group is not looked at again; of it only names are kept."""
    if not group_of(pod):
        return pod
    meta = pod["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "annotations", "ownerReferences", "labels")
    return {"metadata": {key: meta[key] for key in kept if key in meta}}


def _owner(pod: Obj) -> tuple[str, ...]:
    owner = owners.controller_of(pod)
    return () if owner is None else (owner["uid"],)


def _is_ours(pod: Obj) -> bool:
    return bool(pod["spec"].get("schedulerName") == SCHEDULER)


def _owner_of_ours(pod: Obj) -> tuple[str, ...]:
    return _owner(pod) if _is_ours(pod) else ()


class PodGroupController(Handler):
    def __init__(self, context: ControllerContext, namespace: str, workloads: dict[str, Informer]) -> None:
        self._context, self._workloads, self.queue = context, workloads, context.queue(_QUEUE)
        informers = context.informers
        self._selects = not informers.follows_whole(kinds.PODS)
        """Whether the server leaves out the pods of other schedulers."""
        self._pods = informers.get(
            kinds.PODS,
            namespace=namespace,
            fields=f"spec.schedulerName={SCHEDULER}" if self._selects else "",
            indexers={_BY_OWNER: _owner if self._selects else _owner_of_ours},
            transform=slim,
        )
        self._pods.add_handler(self)
        for kind, informer in workloads.items():
            informer.add_handler(_Changed(partial(self._changed, kind)))

    def on_add(self, obj: Obj, initial: bool) -> None:
        if not group_of(obj) and (self._selects or _is_ours(obj)):
            self.queue.add(("Pod", key_of(obj)))

    def on_settled(self, facts: Obj, packed: Packed) -> None:
        if self._selects or _is_ours(facts):
            self.on_add(packed.obj, True)

    def _changed(self, kind: str, obj: Obj) -> None:
        self.queue.add((kind, key_of(obj)))

    async def sync(self, request: Request) -> float | None:
        """Looks at one pod or workload."""
        view = self._observe(*request)
        if view is None:
            return None
        namespace = request[1][0]
        plan = await decided(view, namespace, self._context.client)
        group = await act(plan, namespace, self._context.client)
        if group is not None:
            self._context.explain(key_of(group), group, plan.why)
        return plan.look_again

    def _observe(self, kind: str, key: Key) -> View | None:
        """None when there is nothing to look at any more."""
        if kind == "Pod":
            pod = self._pods.cache.get(*key)
            return None if pod is None else View(pod=pod)
        workload = self._workloads[kind].cache.get(*key)
        if workload is None:
            return None
        pods = self._pods.cache.by_index(_BY_OWNER, workload["metadata"]["uid"])
        return View(workload=workload, kind=kind, pods=pods)


class _Changed(OnChange):
    """A deleted workload takes its group with it by ownership."""

    def on_delete(self, obj: Obj, stale: bool) -> None:
        pass
