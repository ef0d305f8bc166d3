"""Nodes on which nothing runs: pods bound to them start, end, are stopped and evicted as outcomes say.

One part plays all nodes, with a timer for each pod and none for a node that is well: heartbeats would be most
of a month's work. A pod's containers go as its first one does. Refuses nothing: what is bound to it, fits.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.time import rfc3339
from longshore.api.time.doubling import Doubling
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.machinery.informers.informer import Handler
from longshore.machinery.informers.shared import Informers
from longshore.machinery.time.clock import Clock, Timer
from longshore.sim import pod_statuses
from longshore.sim.troubles import Troubles
from longshore.testing.pod_outcomes import Run
from longshore.testing.scripts import Scripts

_PAUSES: Final = Doubling(10.0, 300.0)
"""Before a container starts again in place."""
_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_GONE: Final = frozenset((404, 409))


class _Pod:
    """One pod on a node."""

    __slots__ = ("began", "is_over", "is_stopping", "obj", "restarts", "run", "timer")

    def __init__(self, obj: Obj) -> None:
        self.obj = obj
        self.run = Run()
        self.began = ""
        self.restarts = 0
        self.timer: Timer | None = None
        self.is_over = self.is_stopping = False


class Fleet(Handler):
    """`prepare` it, then `run` until cancelled."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        scripts: Scripts,
        nodes: Sequence[Obj],
        troubles: Troubles,
        rng: random.Random,
    ) -> None:
        self._client, self._clock, self._scripts = client, clock, scripts
        self._nodes, self._troubles, self._rng = (
            {each["metadata"]["name"]: each for each in nodes},
            troubles,
            rng,
        )
        self._pods: dict[str, _Pod] = {}
        self._writes: set[asyncio.Task[None]] = set()
        self.failures = 0
        """How often a node failed."""

    @property
    def is_busy(self) -> bool:
        """Whether a pod runs that will end, waits before it starts again, or is being stopped."""
        return any(pod.timer is not None and not pod.is_over for pod in self._pods.values())

    async def prepare(self) -> None:
        """Registers the nodes."""
        for node in self._nodes.values():
            await self._client.create(kinds.NODES, {k: v for k, v in node.items() if k != "status"})
            given = node.get("status") or {}
            capacity = given.get("allocatable") or given.get("capacity") or {}
            status = {
                "capacity": capacity,
                **given,
                "allocatable": capacity,
                "conditions": [self._condition(True)],
            }
            name, taints = node["metadata"]["name"], (node.get("spec") or {}).get("taints")
            await self._client.patch(kinds.NODES, name, {"status": status}, subresource="status")
            await self._client.patch(
                kinds.NODES, name, {"spec": {"taints": taints}}
            )  # new ones are not ready
            self._expect_failure(name)

    async def run(self, informers: Informers) -> None:
        """Plays until cancelled."""
        informers.get(kinds.PODS).add_handler(self)
        await informers.run()

    # What the API tells

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._seen(obj)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._seen(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        pod = self._pods.pop(obj["metadata"]["uid"], None)
        if pod is not None:
            pod.is_over = True
            self._cancel(pod)

    def _seen(self, obj: Obj) -> None:
        if obj["spec"].get("nodeName") not in self._nodes:
            return
        uid = obj["metadata"]["uid"]
        pod = self._pods.get(uid)
        if pod is None:
            if pod_state.has_ended(obj):
                return
            pod = self._pods[uid] = _Pod(obj)
            self._start(pod)
        pod.obj = obj
        if "deletionTimestamp" in obj["metadata"] and not pod.is_stopping:
            pod.is_stopping = True
            self._stop(pod)

    # The life of a pod

    def _start(self, pod: _Pod) -> None:
        pod.run = run = self._scripts.run_of(pod.obj, pod.obj["spec"]["containers"][0]["name"])
        if run.fails is not None:
            text = str(run.fails)
            self._report(pod, pod_statuses.waiting(pod.obj, self._now(), "CreateContainerError", text, 0))
            return
        pod.began = self._now()
        self._report(pod, pod_statuses.running(pod.obj, pod.began, pod.restarts))
        eviction, end = self._troubles.eviction(self._rng), run.ends_after
        if eviction is not None and (end is None or eviction < end):
            pod.timer = self._clock.call_later(eviction, partial(self._evict, pod))
        elif end is not None:
            pod.timer = self._clock.call_later(end, partial(self._end, pod))

    def _end(self, pod: _Pod) -> None:
        run, policy = pod.run, pod.obj["spec"].get("restartPolicy")
        if pod.is_over or pod.is_stopping:
            return
        if (run.code and policy != "Never") or policy == "Always":
            pod.restarts += 1
            pause = _PAUSES.after(pod.restarts)
            text = f"back-off {pause:g}s restarting failed container"
            self._report(
                pod, pod_statuses.waiting(pod.obj, self._now(), "CrashLoopBackOff", text, pod.restarts)
            )
            pod.timer = self._clock.call_later(pause, partial(self._start, pod))
            return
        self._finish(pod, run.code, run.reason or ("Error" if run.code else "Completed"), run.signal)

    def _evict(self, pod: _Pod) -> None:
        if not pod.is_over and not pod.is_stopping:
            pod.is_over = True
            self._cancel(pod)
            began = pod.began or self._now()
            self._report(pod, pod_statuses.evicted(pod.obj, began, self._now(), pod.restarts))

    def _stop(self, pod: _Pod) -> None:
        """The pod is deleted: it gets its grace period, and goes. Without one the server removes it."""
        self._cancel(pod)
        grace = float(pod.obj["metadata"].get("deletionGracePeriodSeconds") or 0)
        if pod.is_over:
            if grace:
                self._write(self._remove(pod))
            return
        stops = pod.run.stops_after
        heeds = stops is not None and stops <= grace
        seconds = stops if stops is not None and heeds else grace
        code = pod.run.term_code if heeds else 137
        pod.timer = self._clock.call_later(seconds if pod.began else 0.0, partial(self._stopped, pod, code))

    def _stopped(self, pod: _Pod, code: int) -> None:
        pod.is_over = True
        status = pod_statuses.ended(
            pod.obj,
            pod.began or self._now(),
            self._now(),
            code,
            "Error" if code else "Completed",
            pod.restarts,
        )
        self._write(self._remove(pod, status))

    def _finish(self, pod: _Pod, code: int, reason: str, signal: int) -> None:
        pod.is_over = True
        self._report(
            pod, pod_statuses.ended(pod.obj, pod.began, self._now(), code, reason, pod.restarts, signal)
        )

    def _cancel(self, pod: _Pod) -> None:
        if pod.timer is not None:
            pod.timer.cancel()
            pod.timer = None

    # Nodes that fail

    def _expect_failure(self, name: str) -> None:
        seconds = self._troubles.next_failure(self._rng)
        if seconds is not None:
            self._clock.call_later(seconds, partial(self._fail, name))

    def _fail(self, name: str) -> None:
        self.failures += 1
        for pod in [*self._pods.values()]:
            if pod.obj["spec"]["nodeName"] == name:
                self._evict(pod)
        self._write(self._mark(name, ready=False))
        self._clock.call_later(self._troubles.node_repair, partial(self._repair, name))

    def _repair(self, name: str) -> None:
        self._write(self._mark(name, ready=True))
        self._expect_failure(name)

    async def _mark(self, name: str, *, ready: bool) -> None:
        given = (self._nodes[name].get("spec") or {}).get("taints") or []
        taints = given if ready else [*given, _NOT_READY]
        await self._client.patch(kinds.NODES, name, {"spec": {"taints": taints or None}})
        status = {"status": {"conditions": [self._condition(ready)]}}
        await self._client.patch(kinds.NODES, name, status, subresource="status")

    def _condition(self, ready: bool) -> Obj:
        reason, status = ("KubeletReady", "True") if ready else ("NodeFailed", "False")
        at = self._now()
        return {
            "type": "Ready",
            "status": status,
            "reason": reason,
            "lastHeartbeatTime": at,
            "lastTransitionTime": at,
        }

    # Writes

    def _now(self) -> str:
        return rfc3339.from_seconds(self._clock.timestamp())

    def _report(self, pod: _Pod, status: Obj) -> None:
        self._write(self._put(pod, status))

    async def _put(self, pod: _Pod, status: Obj) -> None:
        meta = pod.obj["metadata"]
        body = {"metadata": {"uid": meta["uid"]}, "status": status}
        await self._client.patch(kinds.PODS, meta["name"], body, meta["namespace"], subresource="status")

    async def _remove(self, pod: _Pod, status: Obj | None = None) -> None:
        if status is not None:
            await self._put(pod, status)
        meta = pod.obj["metadata"]
        options = DeleteOptions(grace_period_seconds=0, uid=meta["uid"])
        await self._client.delete(kinds.PODS, meta["name"], meta["namespace"], options)

    def _write(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(_unless_gone(work))
        self._writes.add(task)
        task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writes.discard(task)
        if not task.cancelled():
            task.result()


async def _unless_gone(work: Coroutine[Any, Any, None]) -> None:
    """A pod may go, or another one have its name, before its status is written."""
    try:
        await work
    except StatusError as err:
        if err.code not in _GONE:
            raise
