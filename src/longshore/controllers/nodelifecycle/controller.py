"""The node lifecycle loop: sleeps until a node changes or falls silent, or an eviction is due.

Signs of life are only noted: a renewed Lease, a new heartbeat in the status. Nodes of this process need none,
so a longshore with no other node has no timer here and nothing to write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Iterable
from typing import Final

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import conditions, kinds, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType, Unreachable
from longshore.controllers.nodelifecycle import eviction
from longshore.controllers.nodelifecycle.node_taints import NodeLifecycleView, NodePlan, decide
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.events.recorder import reference
from longshore.machinery.informers.informer import Handler

LEASE_NAMESPACE: Final = "kube-node-lease"
_RETRY_SECONDS: Final = 5.0
"""Seconds until failed writes are retried; upstream syncs all nodes at this interval."""
_STALL_SECONDS: Final = 5.0
"""If a timer is later than this, this process was stopped and may have missed signs of life."""
_MAX_WRITES: Final = 20
log = logging.getLogger(__name__)


async def run(context: ControllerContext, *, local_nodes: Collection[str] = ()) -> None:
    """Syncs nodes until cancelled. `local_nodes` run in this process, so they are alive as long as it is."""
    controller = NodeLifecycle(context, local_nodes)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(context.informers.run())
        tasks.create_task(controller.node_events.run())
        tasks.create_task(controller.pod_events.run())
        tasks.create_task(controller.run())


class NodeLifecycle:
    def __init__(self, context: ControllerContext, local_nodes: Collection[str]) -> None:
        self._context, self._client, self._clock = context, context.client, context.clock
        self._local = local_nodes
        self.node_events = context.recorder("node-controller")
        self.pod_events = context.recorder("taint-eviction-controller")
        self._heard: dict[str, float] = {}
        self._tainted_zones: dict[str, float] = {}
        self._since: dict[str, float] = {}
        self._tainted_nodes: frozenset[str] = frozenset()
        self._changed = asyncio.Event()
        informers = context.informers
        nodes = informers.get(kinds.NODES)
        leases = informers.get(kinds.LEASES, namespace=LEASE_NAMESPACE)
        pods = informers.get(kinds.PODS, indexers={"node": pod_state.nodes_of})
        self._nodes, self._pods = nodes.cache, pods.cache
        nodes.add_handler(_Nodes(self))
        leases.add_handler(_Leases(self))
        pods.add_handler(_Pods(self))

    # ---- what handlers say

    def heard_of(self, node: str) -> None:
        self._heard[node] = self._clock.monotonic()

    def forget(self, node: str) -> None:
        self._heard.pop(node, None)

    def wake(self) -> None:
        self._changed.set()

    def has_to_leave(self, pod: Obj) -> bool:
        """Whether the pod is on a node with NoExecute taints."""
        return pod["spec"].get("nodeName") in self._tainted_nodes

    # ---- the loop

    async def run(self) -> None:
        await self._context.informers.synced()
        while True:
            self._changed.clear()
            await self._until(await self._look())

    async def _look(self) -> float | None:
        """Carries out what is due; returns the seconds until the next sync."""
        plan = decide(self._view())
        writes: list[Awaitable[bool]] = [self._write_node(each) for each in plan.nodes]
        writes += [self._mark_unready(pod) for name in plan.silent for pod in self._ready_on(name)]
        is_done = await _all(writes)
        leaving = eviction.decide(self._leaving())
        self._since = leaving.since
        is_done &= await _all([self._evict(each) for each in leaving.leaving])
        waits = [plan.look_again, leaving.look_again, None if is_done else _RETRY_SECONDS]
        return min((each for each in waits if each is not None), default=None)

    def _view(self) -> NodeLifecycleView:
        now, nodes = self._clock.monotonic(), [*self._nodes]
        for node in nodes:
            self._heard.setdefault(node["metadata"]["name"], now)
        return NodeLifecycleView(
            nodes,
            heard={name: at for name, at in self._heard.items() if name not in self._local},
            tainted=self._tainted_zones,
            now=now,
            at=self._now(),
        )

    def _leaving(self) -> eviction.EvictionView:
        tainted = {node["metadata"]["name"]: found for node in self._nodes if (found := _no_execute(node))}
        self._tainted_nodes = frozenset(tainted)
        pods = [(pod, found) for name, found in tainted.items() for pod in self._pods.by_index("node", name)]
        return eviction.EvictionView(pods, self._since, self._clock.monotonic())

    def _ready_on(self, node: str) -> list[Obj]:
        return [pod for pod in self._pods.by_index("node", node) if pod_state.is_ready(pod)]

    async def _until(self, seconds: float | None) -> None:
        """Waits for a change, at most this many seconds."""
        if seconds is None:
            await self._changed.wait()
            return
        due = self._clock.monotonic() + seconds
        timer = self._clock.call_later(seconds, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            timer.cancel()
        now = self._clock.monotonic()
        if now - due > _STALL_SECONDS:
            self._heard = dict.fromkeys(self._heard, now)

    # ---- writes

    async def _write_node(self, plan: NodePlan) -> bool:
        name = plan.node["metadata"]["name"]
        try:
            await write_node(self._client, plan)
        except (StatusError, Unreachable) as err:
            if not isinstance(err, StatusError) or err.code not in (404, 409):
                log.warning("cannot write to node %s, trying again: %s", name, err)
            return False
        if plan.tainted_zone is not None:
            self._tainted_zones[plan.tainted_zone] = self._clock.monotonic()
        if plan.conditions is not None:
            log.warning("node %s is silent: nothing was heard of it for a while; it gets no new pods", name)
        if plan.falls_silent:
            self.node_events.announce(reference(plan.node, kinds.NODES), "NodeNotReady", node=name)
        return True

    async def _mark_unready(self, pod: Obj) -> bool:
        try:
            await mark_unready(self._client, pod, self._now())
        except (StatusError, Unreachable) as err:
            return isinstance(err, StatusError) and err.code == 404
        self.node_events.announce(reference(pod, kinds.PODS), "PodNodeNotReady")
        return True

    async def _evict(self, leaving: eviction.Leaving) -> bool:
        pod, meta = leaving.pod, leaving.pod["metadata"]
        name = f"{meta['namespace']}/{meta['name']}"
        self.pod_events.announce(reference(pod, kinds.PODS), "TaintManagerEviction", pod=name)
        try:
            with self._context.explaining((meta["namespace"], meta["name"]), pod, leaving.why):
                await evict(self._client, pod, self._now())
        except (StatusError, Unreachable) as err:
            log.warning("pod %s cannot be removed from its node, trying again: %s", name, err)
            return False
        return True

    def _now(self) -> str:
        return rfc3339.from_moment(self._clock.now())


class _Nodes(Handler):
    def __init__(self, controller: NodeLifecycle) -> None:
        self._controller = controller

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._controller.heard_of(obj["metadata"]["name"])
        self._controller.wake()

    def on_update(self, old: Obj, new: Obj) -> None:
        if _heartbeat(old) != _heartbeat(new):
            self._controller.heard_of(new["metadata"]["name"])
        if _facts(old) != _facts(new):
            self._controller.wake()

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._controller.forget(obj["metadata"]["name"])
        self._controller.wake()


class _Leases(Handler):
    def __init__(self, controller: NodeLifecycle) -> None:
        self._controller = controller

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._controller.heard_of(obj["metadata"]["name"])

    def on_update(self, old: Obj, new: Obj) -> None:
        if (old.get("spec") or {}).get("renewTime") != (new.get("spec") or {}).get("renewTime"):
            self._controller.heard_of(new["metadata"]["name"])


class _Pods(Handler):
    """Wakes the controller when a pod is added to a node with NoExecute taints."""

    def __init__(self, controller: NodeLifecycle) -> None:
        self._controller = controller

    def on_add(self, obj: Obj, initial: bool) -> None:
        if self._controller.has_to_leave(obj):
            self._controller.wake()

    def on_update(self, old: Obj, new: Obj) -> None:
        if old["spec"] is not new["spec"] and self._controller.has_to_leave(new):
            self._controller.wake()


def _heartbeat(node: Obj) -> object:
    return (conditions.find(node, "Ready") or {}).get("lastHeartbeatTime")


def _facts(node: Obj) -> object:
    """Returns the parts of a node that decisions depend on."""
    spec, found = node.get("spec") or {}, (node.get("status") or {}).get("conditions") or ()
    said = [(each.get("type"), each.get("status")) for each in found]
    return said, spec.get("taints"), spec.get("unschedulable"), node["metadata"].get("labels")


def _no_execute(node: Obj) -> list[Obj]:
    listed: Iterable[Obj] = (node.get("spec") or {}).get("taints") or ()
    return [taint for taint in listed if taint.get("effect") == "NoExecute"]


async def _all(writes: list[Awaitable[bool]]) -> bool:
    """Awaits all writes, 20 at a time; returns whether all succeeded."""
    results: list[bool] = []
    for at in range(0, len(writes), _MAX_WRITES):
        results += await asyncio.gather(*writes[at : at + _MAX_WRITES])
    return all(results)


async def write_node(client: Client, plan: NodePlan) -> None:
    """Writes conditions and taints. Raises a 409 if the node has changed since it was read."""
    node = plan.node
    if plan.conditions is not None:
        status = {**(node.get("status") or {}), "conditions": plan.conditions}
        node = await client.update_status(kinds.NODES, {**node, "status": status})
    if plan.taints is not None:
        meta = node["metadata"]
        version = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        patch = {"metadata": version, "spec": {"taints": plan.taints or None}}
        await client.patch(kinds.NODES, meta["name"], patch)


async def mark_unready(client: Client, pod: Obj, now: str) -> None:
    """Sets the pod's Ready condition to False, since its node is silent. `now` is RFC 3339."""
    known = conditions.find(pod, "Ready")
    assert known is not None, "a pod that is ready has the condition"
    await _patch_condition(client, pod, {**known, "status": "False", "lastTransitionTime": now})


async def evict(client: Client, pod: Obj, now: str) -> None:
    """Sets DisruptionTarget, then deletes the pod with its own grace period. `now` is RFC 3339."""
    before = conditions.find(pod, "DisruptionTarget")
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "lastTransitionTime": before["lastTransitionTime"] if before and before["status"] == "True" else now,
    }
    meta = pod["metadata"]
    with errors.tolerated(404, 409):
        await _patch_condition(client, pod, condition)
        await client.delete(kinds.PODS, meta["name"], meta["namespace"], DeleteOptions(uid=meta["uid"]))


async def _patch_condition(client: Client, pod: Obj, condition: Obj) -> None:
    meta = pod["metadata"]
    patch = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [condition]}}
    await client.patch(
        kinds.PODS, meta["name"], patch, meta["namespace"], type=PatchType.STRATEGIC, subresource="status"
    )
