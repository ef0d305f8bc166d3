"""The loop of the PodGroup controller. It watches only pods of Volcano's scheduler, unless another controller
in this process watches all pods: then it shares that watch.

ReplicaSets and StatefulSets are watched if the server has them: when one is scaled to zero, its group is
deleted; when one changes, its group is updated from its first pod. A crash after any single write is safe:
the name of a group contains its owner's UID.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from msgspec.structs import replace

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, owners
from longshore.api.types import Obj
from longshore.client import Client
from longshore.client.projection import Projection
from longshore.controllers.volcano.podgroup.decide import Ask, PodGroupPlan, PodGroupView, decide, group_of
from longshore.controllers.volcano.podgroup.wanted import GROUP, name_of
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer, OnChange
from longshore.machinery.queues.workers import run_workers

SCHEDULER: Final = "volcano"
_WORKLOADS: Final = (kinds.REPLICA_SETS, kinds.STATEFUL_SETS)
_QUEUE: Final = "volcano_podgroup"
_POD: Final = Projection(
    *("metadata.annotations", "metadata.labels", "spec.schedulerName", "spec.priorityClassName"),
    *("spec.overhead", "spec.resources", "spec.containers.resources"),
    *(f"spec.initContainers.{name}" for name in ("resources", "restartPolicy")),
)
READS: Final = {kinds.PODS: _POD}
_BY_OWNER: Final = "by the owner of a pod that may need a group"
PodGroupRequest = tuple[str, Key]
"""The kind and the key of an object to sync."""


async def run(context: ControllerContext, *, namespace: str = "") -> None:
    """Creates PodGroups until cancelled."""
    workloads = {
        kind: context.informers.get((version, kind), namespace=namespace)
        for version, kind in _WORKLOADS
        if await _served(context.client, version, kind)
    }
    controller = PodGroupController(context, namespace, workloads)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(context.informers.run())
        tasks.create_task(run_workers(controller.queue, controller.sync, count=context.workers))


async def _served(client: Client, version: str, kind: str) -> bool:
    try:
        await client.resource((version, kind))
    except LookupError:
        return False
    return True


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
        self._selects = not informers.follows_all(kinds.PODS, _POD)
        """Whether the watch excludes pods of other schedulers."""
        self._pods = informers.get(
            kinds.PODS,
            namespace=namespace,
            fields=f"spec.schedulerName={SCHEDULER}" if self._selects else "",
            indexers={_BY_OWNER: _owner if self._selects else _owner_of_ours},
            reads=_POD,
        )
        self._pods.add_handler(self)
        for kind, informer in workloads.items():
            informer.add_handler(_Changed(partial(self._changed, kind)))

    def on_add(self, obj: Obj, initial: bool) -> None:
        if not group_of(obj) and (self._selects or _is_ours(obj)):
            self.queue.add(("Pod", key_of(obj)))

    def _changed(self, kind: str, obj: Obj) -> None:
        self.queue.add((kind, key_of(obj)))

    async def sync(self, request: PodGroupRequest) -> float | None:
        """Syncs one pod or workload."""
        view = self._observe(*request)
        if view is None:
            return None
        namespace = request[1][0]
        plan = await decided(view, namespace, self._context.client)
        group = await act(plan, namespace, self._context.client)
        if group is not None:
            self._context.explain(key_of(group), group, plan.why)
        return plan.look_again

    def _observe(self, kind: str, key: Key) -> PodGroupView | None:
        """Returns the view; None if the object no longer exists."""
        if kind == "Pod":
            pod = self._pods.cache.get(*key)
            return None if pod is None else PodGroupView(pod=pod)
        workload = self._workloads[kind].cache.get(*key)
        if workload is None:
            return None
        pods = self._pods.cache.by_index(_BY_OWNER, workload["metadata"]["uid"])
        return PodGroupView(workload=workload, kind=kind, pods=pods)


class _Changed(OnChange):
    """Ignores deletes: garbage collection deletes the group of a deleted workload."""

    def on_delete(self, obj: Obj, stale: bool) -> None:
        pass


async def decided(view: PodGroupView, namespace: str, client: Client) -> PodGroupPlan:
    """Decides and reads until the plan is final."""
    answers: dict[Ask, Obj | None] = {}
    while True:
        plan = decide(replace(view, answers=answers) if answers else view)
        if not plan.read:
            return plan
        for ask in plan.read:
            answers[ask] = await _read(ask, namespace, client)


async def act(plan: PodGroupPlan, namespace: str, client: Client) -> Obj | None:
    """Makes all writes of a plan, in order. Returns the PodGroup, or None if there is none."""
    group = None
    if plan.create is not None:
        group = await _create(plan.create, namespace, client)
    if plan.update is not None:
        group = await client.update(kinds.POD_GROUPS, plan.update, namespace)
    if plan.remove:
        group = await _remove(plan.remove, namespace, client)
    if plan.tell is not None:
        await _tell(plan.tell, namespace, client)
    return group


async def _read(ask: Ask, namespace: str, client: Client) -> Obj | None:
    try:
        return await client.get(ask.kind, ask.name, namespace)
    except LookupError:  # the server knows no such kind
        return None
    except StatusError as err:
        if err.code != 404:
            raise
        return None


async def _create(group: Obj, namespace: str, client: Client) -> Obj:
    try:
        return await client.create(kinds.POD_GROUPS, group, namespace)
    except StatusError as err:
        if err.reason != "AlreadyExists":
            raise
        return await client.get(kinds.POD_GROUPS, group["metadata"]["name"], namespace)


async def _remove(name: str, namespace: str, client: Client) -> Obj | None:
    with errors.tolerated(404):
        return await client.delete(kinds.POD_GROUPS, name, namespace)
    return None


async def _tell(pod: Obj, namespace: str, client: Client) -> None:
    """Annotates this pod with the group's name, unless another pod has its name now."""
    meta = pod["metadata"]
    patch = {"metadata": {"uid": meta["uid"], "annotations": {GROUP: name_of(pod)}}}
    try:
        await client.patch(kinds.PODS, meta["name"], patch, namespace)
    except StatusError as err:
        if err.code not in (404, 409):  # it is gone, or another one has its name
            raise
