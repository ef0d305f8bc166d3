"""The pod scheduler: takes waiting pods, most important first, decides, and has the plan carried out.

Works in short passes on the event loop, as soon as a change may help a pod. Within a pass every decision
counts at once in the ledger; bindings are written in parallel (`act.py`). If a binding fails, the pod is
tried again after a pause that doubles from one second to ten, upstream's numbers (`waiting.py`).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from longshore.api.types import Obj
from longshore.machinery.explanations import Explanation
from longshore.machinery.reasons import Reason
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.fitting import verdict
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.single.act import Actor
from longshore.scheduler.single.decide import PlacementPlan, decide
from longshore.scheduler.single.pending import Group, Pending
from longshore.scheduler.single.waiting import Waiting
from longshore.scheduler.view import SchedulerView

NAME: Final = "default-scheduler"
_TURN_PODS: Final = 256
"""Decisions made before other callbacks of the event loop run."""
_ANYWAY_SECONDS: Final = 300.0
"""Period after which all waiting pods are tried again, in case a change was missed."""

log = logging.getLogger(__name__)


class DefaultScheduler:
    """A `cluster.Listener`; call `run` once the cluster has synced."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._clock, self._ledger = cluster, cluster.clock, cluster.ledger
        self._explanations = cluster.context.explanations
        self._pending = Pending()
        self._waiting = Waiting(cluster, self._pending, self)
        self._act = Actor(cluster, self, name=NAME)
        self._due = self._running = False
        self._news = 0
        """The changes since the last pass, as flags."""
        self._any_waits = asyncio.Event()
        """Set when a pod is to be tried; starts the periodic retry of all pods."""

    async def run(self) -> None:
        """Schedules until cancelled."""
        self._running = True
        for group in [*self._pending.groups]:
            for pod in group.pods.values():
                nominated = (pod.obj.get("status") or {}).get("nominatedNodeName")
                if nominated:
                    self._ledger.nominate(pod, nominated)
        self.soon()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._act.run())
                tasks.create_task(self._try_all_now_and_then())
        finally:
            self._running = False

    async def _try_all_now_and_then(self) -> None:
        """Tries all waiting pods again every 300 s. Without waiting pods there is no timer, which took 12 of
        the 72 loop turns in an hour of one CronJob (bench/testing.py)."""
        began = self._clock.monotonic()
        while True:
            await self._any_waits.wait()
            await self._clock.sleep(_ANYWAY_SECONDS - (self._clock.monotonic() - began) % _ANYWAY_SECONDS)
            self.woken(verdict.EVERYTHING)
            if not len(self._pending):
                self._any_waits.clear()

    # ---- what the cluster tells

    def pod_changed(self, pod: Obj) -> None:
        self._waiting.pod_changed(pod)

    def pod_gone(self, pod: Obj) -> None:
        self._waiting.pod_gone(pod)

    def woken(self, flags: int) -> None:
        if flags & verdict.VOLUMES:
            self._act.claims.changed()
        if not len(self._pending):
            self._waiting.regroup()
        elif self._pending.has_parked or self._waiting.is_misgrouped:
            self._news |= flags
            self.soon()

    # ---- passes

    def soon(self) -> None:
        self._any_waits.set()
        if not self._due and self._running:
            self._due = True
            asyncio.get_running_loop().call_soon(self._pass)

    def _pass(self) -> None:
        self._due = False
        if self._news:
            if self._waiting.is_misgrouped:
                self._waiting.regroup()
            self._pending.wake(self._news)
            self._news = 0
        view = self._cluster.view()
        for _ in range(_TURN_PODS):
            if not self._running or self._act.busy or (group := self._pending.pop()) is None:
                return
            self._try(group, view)
        self.soon()

    def _try(self, group: Group, view: SchedulerView) -> None:
        pod = next(iter(group.pods.values()))
        try:
            plan = decide(pod, view)
        except Exception:  # a bug in one pod's decision must not stop the others'
            log.exception("deciding about pod %s/%s failed", *pod.key)
            self._pending.take_out(pod.uid, forget=False)
            self._pending.again(group)
            self._act.fail(pod, "internal error of the scheduler")
            return
        if plan.node:
            self._pending.take_out(pod.uid)
            self._pending.again(group)
            self._act.place(pod, plan)
        elif plan.victims is not None:
            self._make_room(pod, plan)
            self._pending.again(group)
        else:
            self._act.park(self._pending.park(group, plan), plan)

    def _make_room(self, pod: Pod, plan: PlacementPlan) -> None:
        """Evicts the plan's victims. Parks the pod in a group of its own until they have left."""
        self._pending.take_out(pod.uid, forget=False)
        for rival in self._act.make_room(pod, plan):
            self._pending.unpark(rival.uid)
        self._pending.park(self._pending.add(pod, pod.uid), plan)

    # ---- pods that are being created

    def place(self, pod: Obj) -> str:
        """The node for a pod that is not stored yet, on which the pod counts from now on. Empty if other pods
        come first or there is no room; then the pod is queued later."""
        if not self._running or self._due or self._act.busy or self._pending.has_due:
            return ""
        if pod["spec"].get("schedulerName") != NAME:
            return ""
        new = self._cluster.shapes.pod(pod)
        if self._waiting.others_wait(new):
            return ""
        try:
            plan = decide(new, self._cluster.view())
        except Exception:  # a bug is reported when the pod's turn comes
            return ""
        if not plan.node or (plan.needs is not None and plan.needs.waiting):
            return ""
        self._act.assume(new, plan)
        return plan.node

    def stored(self, pod: Obj, error: Exception | None) -> None:
        """Called when a pod that was placed at its creation is stored, or could not be."""
        if error is None:
            known = self._ledger.pods.get(pod["metadata"]["uid"])
            placed = Pod(pod, known.shape) if known is not None else self._cluster.shapes.pod(pod)
            self._act.created(placed, pod["spec"]["nodeName"])
        else:
            self._ledger.forget(pod["metadata"]["uid"])
            self._cluster.wake(verdict.ROOM)

    # ---- what acting and waiting ask, and tell

    def tell(self, pods: list[Pod], plan: PlacementPlan) -> None:
        """Reports the answer of a parked group to pods that have joined it."""
        self._act.tell(pods, plan)

    def gone(self, uid: str) -> None:
        self._act.forget(uid)

    def bound(self, uid: str) -> float | None:
        return self._waiting.bound(uid)

    def unbound(self, pod: Pod) -> None:
        """Tries the pod again later; offers its room to other pods now."""
        self._waiting.failed(pod)
        self._cluster.wake(verdict.ROOM)

    def is_waiting(self, uid: str) -> bool:
        return uid in self._waiting

    def waiting_count(self) -> int:
        return len(self._pending)

    # ---- what people ask

    def explain(self, namespace: str, name: str) -> list[Explanation]:
        """The decisions about a pod, oldest first; if it waits, the latest answer last."""
        told = [*self._explanations.of(namespace, name)]
        obj = self._cluster.pods.get(namespace, name)
        if obj is not None and (why := self._why_it_waits(obj)):
            told.append(Explanation(obj["metadata"]["uid"], self._clock.now().timestamp(), why))
        return told

    def _why_it_waits(self, pod: Obj) -> tuple[Reason, ...]:
        group = self._pending.group_of(pod["metadata"]["uid"])
        if group is not None and group.plan is not None:
            others = len(group.pods) - 1
            if not others:
                return group.plan.why
            return (*group.plan.why, Reason("OthersWait", {"pods": others}))
        if gates := pod["spec"].get("schedulingGates"):
            names = ", ".join(gate["name"] for gate in gates)
            return (Reason("SchedulingGated", {"gates": len(gates), "names": names}),)
        return ()
