"""The loop of pod garbage collection: syncs every 20 seconds. Indexes make the cost of a sync depend on the
pods to remove, not on all pods.

A pod is marked as failed before it is deleted by force, so that its controller sees how it ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from typing import Final

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import conditions, kinds, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType, Unreachable
from longshore.client.projection import Projection
from longshore.controllers.podgc.decide import (
    TERMINATED_POD_THRESHOLD,
    Cause,
    PodGcView,
    Removal,
    decide,
    ended,
    lost,
)
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.time.clock import Clock

_MAX_WRITES: Final = 20
_READS_PER_TURN: Final = 200
"""Pods read, in about 3 ms, before other tasks in the event loop run."""
_POD: Final = Projection("metadata.creationTimestamp", "spec.nodeName", "status.phase", "status.reason")
READS: Final = {kinds.PODS: _POD}
"""All that decisions read of a pod."""
log = logging.getLogger(__name__)


async def run(context: ControllerContext, *, threshold: int = TERMINATED_POD_THRESHOLD) -> None:
    """Removes pods until cancelled. `threshold` is how many ended pods are kept; 0 keeps all.

    Records an explanation for each removed pod, but none for the many that stay."""
    controller = PodGc(context, threshold)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(context.informers.run())
        tasks.create_task(controller.run())


def _states(pod: Obj) -> Iterable[str]:
    if ended(pod):
        yield "ended"
    if "deletionTimestamp" in pod["metadata"]:
        yield "deleting"


class PodGc:
    def __init__(self, context: ControllerContext, threshold: int) -> None:
        self._context, self._threshold = context, threshold
        informers, registry = context.informers, context.registry
        indexers = {"state": _states, "node": pod_state.nodes_of}
        pods = informers.get(kinds.PODS, indexers=indexers, reads=_POD)
        self._pods = pods.cache
        nodes = informers.get(kinds.NODES)
        self._nodes = nodes.cache
        self._changed = asyncio.Event()
        for informer in (pods, nodes):
            informer.add_handler(OnChange(lambda obj: self._changed.set()))
        self._is_missing_nodes = False
        self._quarantine = Quarantine(context.clock)
        labels = ("namespace", "reason")
        self._removed = registry.counter(
            "pod_gc_collector_force_delete_pods_total",
            "Number of pods that are being forcefully deleted since the Pod GC Controller started.",
            labels,
        )
        self._errors = registry.counter(
            "pod_gc_collector_force_delete_pod_errors_total",
            "Number of errors encountered when forcefully deleting the pods "
            "since the Pod GC Controller started.",
            labels,
        )

    async def run(self) -> None:
        await self._context.informers.synced()
        while True:
            self._changed.clear()
            plan = decide(await self._view())
            for removal in plan.removals:
                log.info("removing pod %s: %s", _name(removal), removal.cause.why)
            for at in range(0, len(plan.removals), _MAX_WRITES):
                some = plan.removals[at : at + _MAX_WRITES]
                await asyncio.gather(*(self._remove(removal) for removal in some))
            await self._until_next(plan.look_again, again=bool(plan.removals))

    async def _until_next(self, period: float, *, again: bool) -> None:
        """Waits for the next sync. If no pods were removed (`again` is False) and no node is missing, a sync
        can find nothing until a change. Then it waits for a change first, and after that for the next regular
        time."""
        clock = self._context.clock
        due = clock.monotonic() + period
        if not again and not self._is_missing_nodes:
            await self._changed.wait()
            late = clock.monotonic() - due
            due += -(-late // period) * period if late > 0 else 0.0
        await clock.sleep(due - clock.monotonic())

    async def _view(self) -> PodGcView:
        nodes = {node["metadata"]["name"]: node for node in self._nodes}
        return PodGcView(
            ended=await self._ended(),
            deleting=self._pods.by_index("state", "deleting"),
            on_lost_nodes=[
                pod for name in await self._lost(nodes) for pod in self._pods.by_index("node", name)
            ],
            nodes=nodes,
            threshold=self._threshold,
        )

    async def _ended(self) -> list[Obj]:
        """Returns the ended pods, slimmed, if they are too many. Reads a few at a time: most are packed."""
        if not self._pods.index_size("state", "ended") > self._threshold > 0:
            return []
        found: list[Obj] = []
        for at, key in enumerate(self._pods.index_members("state", "ended"), 1):
            pod = self._pods.get(*key)
            if pod is not None and ended(pod):
                found.append(_POD.of(pod))
            if not at % _READS_PER_TURN:
                await asyncio.sleep(0)
        return found

    async def _lost(self, nodes: dict[str, Obj]) -> list[str]:
        """Returns nodes that were missing for 40 seconds and do not exist on the server either."""
        missing = lost(self._pods.index_keys("node"), nodes)
        self._is_missing_nodes = bool(missing)
        due = self._quarantine.missing(missing)
        return [name for name in due if await self._is_gone(name)]

    async def _is_gone(self, node: str) -> bool:
        try:
            await self._context.client.get(kinds.NODES, node)
        except StatusError as err:
            if err.code == 404 and (err.details or {}).get("name") == node:
                return True
            log.warning("cannot find out whether node %s exists: %s", node, err)
        except Unreachable as err:
            log.warning("cannot find out whether node %s exists: %s", node, err)
        return False

    async def _remove(self, removal: Removal) -> None:
        meta, now = removal.pod["metadata"], rfc3339.from_moment(self._context.clock.now())
        key, why = (meta["namespace"], meta["name"]), (removal.cause.why,)
        labels = meta["namespace"], removal.cause.value
        self._removed.inc(*labels)
        try:
            with self._context.explaining(key, removal.pod, why):
                await act(self._context.client, removal, now)
        except (StatusError, Unreachable) as err:
            self._errors.inc(*labels)
            log.warning("cannot remove pod %s, trying again later: %s", _name(removal), err)


def _name(removal: Removal) -> str:
    meta = removal.pod["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


_QUARANTINE_SECONDS: Final = 40.0


class Quarantine:
    """Tracks how long nodes are missing, so that a node that is only seen late does not lose its pods."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def missing(self, names: Collection[str]) -> list[str]:
        """Notes the nodes that are missing now; returns those that have been missing for 40 seconds.

        A returned node starts over: if it is still missing at the next call, its 40 seconds begin again."""
        now = self._clock.monotonic()
        self._since = {name: self._since.get(name, now) for name in sorted(names)}
        due = [name for name, since in self._since.items() if now - since >= _QUARANTINE_SECONDS]
        for name in due:
            del self._since[name]
        return due


async def act(client: Client, removal: Removal, now: str) -> None:
    """Removes one pod. Does nothing if it is gone already. `now` is RFC 3339."""
    meta = removal.pod["metadata"]
    name, namespace = meta["name"], meta["namespace"]
    with errors.tolerated(404):
        pod = await client.get(kinds.PODS, name, namespace)
        if pod["metadata"]["uid"] != meta["uid"]:
            return
        patch = failed(pod, removal.cause, now)
        if patch is not None:
            await client.patch(
                kinds.PODS, name, patch, namespace, type=PatchType.STRATEGIC, subresource="status"
            )
        options = DeleteOptions(grace_period_seconds=0, uid=meta["uid"])
        await client.delete(kinds.PODS, name, namespace, options)


def failed(pod: Obj, cause: Cause, now: str) -> Obj | None:
    """Returns the status patch that marks the pod as failed; None if it ended by itself."""
    current = pod.get("status") or {}
    if pod_state.has_ended(pod):
        return None
    status: Obj = {"phase": "Failed"}
    generation = pod["metadata"].get("generation")
    if generation:
        status["observedGeneration"] = generation
    if cause is Cause.ORPHANED:
        status["conditions"] = [_disrupted(current.get("conditions") or (), generation, now)]
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}


def _disrupted(known: list[Obj] | tuple[()], generation: int | None, now: str) -> Obj:
    condition: Obj = {"type": "DisruptionTarget", "status": "True"}
    if generation:
        condition["observedGeneration"] = generation
    before = conditions.among(known, "DisruptionTarget")
    since = before.get("lastTransitionTime") if before and before["status"] == "True" else None
    return {
        **condition,
        "lastTransitionTime": since or now,
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
    }
