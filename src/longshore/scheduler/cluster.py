"""The cluster as the schedulers of this process see it: one ledger kept up by informers, and its listeners.

Several schedulers, each for pods of another `spec.schedulerName`, share one `Cluster`, so that none gives
away what another has promised. Listeners get flags that say what changed (`verdict`), so they need not check
every pod again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, Protocol

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.client import Unreachable
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.cache import Cache, key_of
from longshore.machinery.informers.informer import Handler, Informer, OnChange
from longshore.scheduler.fitting import verdict
from longshore.scheduler.fitting.pod_claims import Volumes
from longshore.scheduler.fitting.pod_shape import Shapes
from longshore.scheduler.ledger import Ledger, Node
from longshore.scheduler.view import SchedulerView

_NO_LABELS: Final[Mapping[str, str]] = {}
_PAUSE_SECONDS: Final = 1.0
_DEFAULT_SCHEDULER: Final = "default-scheduler"
"""A scheduler that reads nothing of a pod that has ended, except that it has ended."""

log = logging.getLogger(__name__)


class Listener(Protocol):
    """A scheduler, called for the pods that name it and for changes that may help them."""

    def pod_changed(self, pod: Obj) -> None:
        """A pod of this scheduler was added or changed; `spec.nodeName` says whether it has a node."""

    def pod_gone(self, pod: Obj) -> None:
        """A pod of this scheduler was deleted."""

    def woken(self, flags: int) -> None:
        """Something changed that may help pods that wait for one of these flags."""


class Cluster:
    """Register listeners, then call `run`."""

    def __init__(self, context: ControllerContext) -> None:
        self.context, self.client, self.clock = context, context.client, context.clock
        self.ledger, self.shapes = Ledger(), Shapes()
        self.listeners: dict[str, Listener] = {}
        self._handlers: list[tuple[Informer, Handler]] = []
        self.pods: Cache = self.follow(kinds.PODS, _Pods(self))
        self.follow(kinds.NODES, _Nodes(self))
        self._namespaces = self.follow(kinds.NAMESPACES, OnChange(lambda _: self.wake(verdict.PODS)))
        volumes = OnChange(lambda _: self.wake(verdict.VOLUMES))
        self.claims = self.follow(kinds.CLAIMS, volumes)
        volume_cache = self.follow(kinds.VOLUMES, volumes)
        class_cache = self.follow(kinds.STORAGE_CLASSES, volumes)
        self._budgets = self.follow(kinds.DISRUPTION_BUDGETS, Handler())
        self.volumes = Volumes(self.claims.get, volume_cache.get, class_cache.get)
        self._view = SchedulerView(self.ledger, self.volumes, self.namespace_labels, self._budgets)

    def view(self) -> SchedulerView:
        """The present state, on which decisions are based."""
        return self._view

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        found = self._namespaces.get("", name)
        return (found["metadata"].get("labels") or _NO_LABELS) if found is not None else _NO_LABELS

    def wake(self, flags: int) -> None:
        for listener in self.listeners.values():
            listener.woken(flags)

    def follow(self, what: tuple[str, str], handler: Handler) -> Cache:
        """The cache of a resource. Its changes go to `handler` once `run` or `follow_all` is called."""
        informer = self.context.informers.get(what)
        self._handlers.append((informer, handler))
        return informer.cache

    async def follow_if_served(self, what: tuple[str, str], handler: Handler) -> Cache:
        """The cache of a resource; empty if the server lacks the resource. Call while the cluster runs."""
        while True:
            try:
                await self.client.list(what)
                break
            except StatusError as err:
                if err.code == 404:
                    return Cache()
                problem: Exception = err
            except Unreachable as err:
                problem = err
            log.warning("cannot read %s: %s", what[1], problem)
            await self.clock.sleep(_PAUSE_SECONDS)
        informer = self.context.informers.get(what)
        informer.add_handler(handler)
        await informer.synced()
        return informer.cache

    async def run(self, *schedulers: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Follows the cluster; once all caches are filled, runs the schedulers, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.context.informers.run())
            await self.follow_all()
            for scheduler in schedulers:
                tasks.create_task(scheduler())

    async def follow_all(self) -> None:
        """Calls the handlers of all followed resources from now on. Waits until their caches are filled."""
        while self._handlers:
            # Not earlier, since a handler is called at once for objects that the process has cached already.
            informer, handler = self._handlers.pop(0)
            informer.add_handler(handler)
        await self.context.informers.synced()


class _Pods(Handler):
    """Passes pods with a node to the ledger, and every pod to its scheduler."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def on_add(self, obj: Obj, initial: bool) -> None:
        """Passes a pod on. Gangs count ended pods, so they get a settled pod whole."""
        if initial and obj["spec"].get("schedulerName") != _DEFAULT_SCHEDULER:
            obj = self._cluster.pods.get(*key_of(obj)) or obj
        self._seen(obj, moved=False)

    def on_update(self, old: Obj, new: Obj) -> None:
        if old is not new:
            before, after = old["metadata"], new["metadata"]
            moved = before.get("labels") != after.get("labels")
            leaves = "deletionTimestamp" in after and "deletionTimestamp" not in before
            self._seen(new, moved=moved or leaves)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        cluster = self._cluster
        uid = obj["metadata"]["uid"]
        listener = cluster.listeners.get(obj["spec"].get("schedulerName", ""))
        if listener is not None:
            listener.pod_gone(obj)
        if cluster.ledger.remove(uid) is not None:
            cluster.wake(verdict.ROOM)

    def _seen(self, obj: Obj, *, moved: bool) -> None:
        cluster, spec, uid = self._cluster, obj["spec"], obj["metadata"]["uid"]
        ledger = cluster.ledger
        flags = 0
        node = spec.get("nodeName")
        if pod_state.has_ended(obj):
            if ledger.remove(uid) is not None:
                flags = verdict.ROOM
        elif node:
            known, assumed = ledger.pods.get(uid), uid in ledger.assumed
            if known is not None and known.node == node and _asks_the_same(known.obj, obj):
                ledger.still(known, obj)
                changed = False
            else:
                changed = ledger.confirm(cluster.shapes.pod(obj), node)
            if changed or assumed or moved:
                # A known pod that asks for something else now may have left room.
                left = known is not None and changed
                flags = verdict.PODS | verdict.ROOM if left else verdict.PODS
        listener = cluster.listeners.get(spec.get("schedulerName", ""))
        if listener is not None:
            listener.pod_changed(obj)
        if flags:
            cluster.wake(flags)


def _asks_the_same(old: Obj, new: Obj) -> bool:
    """Whether a bound pod takes the same amounts of its node as before."""
    before, after = old["spec"], new["spec"]
    return before is after or (
        before["containers"] == after["containers"]
        and before.get("initContainers") == after.get("initContainers")
        and before.get("resources") == after.get("resources")
    )


class _Nodes(Handler):
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._cluster.ledger.put_node(obj)
        self._cluster.wake(verdict.EVERYTHING)

    def on_update(self, old: Obj, new: Obj) -> None:
        """Wakes no pod for a heartbeat, which changes nothing that a scheduler reads."""
        ledger = self._cluster.ledger
        node = ledger.nodes.get(new["metadata"]["name"])
        before = None if node is None else _outlook(node)
        if node is not None and _same(node.obj, new):
            node.obj = new
            return
        after = _outlook(ledger.put_node(new))
        if before != after:
            self._cluster.wake(verdict.EVERYTHING)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._cluster.ledger.remove_node(obj["metadata"]["name"])
        self._cluster.wake(verdict.PODS)


def _same(old: Obj | None, new: Obj) -> bool:
    if old is None:
        return False
    return all(
        (old.get(part) or {}).get(name) == (new.get(part) or {}).get(name)
        for part, name in (
            ("metadata", "labels"),
            ("spec", "taints"),
            ("spec", "unschedulable"),
            ("status", "allocatable"),
            ("status", "capacity"),
        )
    )


def _outlook(node: Node) -> tuple[object, ...]:
    return node.labels, node.taints, node.unschedulable, node.allocatable
