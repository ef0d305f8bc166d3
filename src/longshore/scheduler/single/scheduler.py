"""The scheduler for single pods: takes what waits, most important first, decides, and binds.

Works in short passes on the event loop, as soon as something happened that may help somebody. Within a pass
every decision counts at once in the ledger; the bindings are written side by side. A pod whose binding failed
comes back after a pause that doubles from one second to ten, upstream's numbers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Hashable
from typing import Any, Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.metrics import Registry
from longshore.api.time.doubling import Doubling
from longshore.api.types import Obj
from longshore.client import PatchType, Unreachable
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.explanations import Explanation, Explanations
from longshore.scheduler.acting.binding import Binder
from longshore.scheduler.acting.claiming import Claims
from longshore.scheduler.acting.evicting import Evictor
from longshore.scheduler.acting.reporting import SCHEDULER_ERROR, Reporter
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.fitting import pod_claims, verdict
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.metrics import Metrics
from longshore.scheduler.single.decide import Plan, View, decide
from longshore.scheduler.single.pending import Group, Pending

NAME: Final = "default-scheduler"
_TURN: Final = 256
"""Decisions before others in the event loop get their turn."""
_PAUSES: Final = Doubling(1.0, 10.0)
_ANYWAY_SECONDS: Final = 300.0
"""All who wait are tried again this often, should a change have gone unnoticed."""

log = logging.getLogger(__name__)


class DefaultScheduler:
    """A `cluster.Listener`; `run` once the cluster has synced."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        name: str = NAME,
        registry: Registry | None = None,
        explanations: Explanations | None = None,
    ) -> None:
        client, clock = cluster.client, cluster.clock
        self._cluster, self._clock, self._ledger = cluster, clock, cluster.ledger
        self._pending = Pending()
        self._seen: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self.explanations = explanations or Explanations()
        self._recorder = Recorder(client, name, clock=clock, rng=cluster.rng)
        self._reporter = Reporter(client, self._recorder, clock, self._waits)
        self._binder = Binder(
            client,
            self._ledger,
            clock=clock,
            rng=cluster.rng,
            bound=self._bound,
            failed=self._failed,
            freed=self._soon,
        )
        self._claims = Claims(client, cluster.claims, clock)
        self._evictor = Evictor(client, self._recorder, clock)
        self._metrics = Metrics(registry or Registry(), name, self._pending.__len__)
        self._due = self._running = self._by_labels = False
        self._news = 0
        """What happened since the last pass, as flags."""
        self._acting: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Schedules until cancelled."""
        self._running = True
        for group in [*self._pending.groups]:
            for pod in group.pods.values():
                nominated = (pod.obj.get("status") or {}).get("nominatedNodeName")
                if nominated:
                    self._ledger.nominate(pod, nominated)
        self._soon()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run())
                tasks.create_task(self._reporter.run())
                tasks.create_task(self._try_all_now_and_then())
        finally:
            self._running = False
            for task in self._acting:
                task.cancel()
            self._binder.cancel()

    # ---- what the cluster tells

    def pod_changed(self, pod: Obj) -> None:
        meta, spec = pod["metadata"], pod["spec"]
        uid = meta["uid"]
        if spec.get("nodeName") or "deletionTimestamp" in meta or pod_state.has_ended(pod):
            if uid in self._pending or uid in self._seen or uid in self._failures:
                self._dismiss(uid)
        elif spec.get("schedulingGates"):
            self._pending.take_out(uid)
        elif uid not in self._ledger.pods:
            self._queue(pod)

    def pod_gone(self, pod: Obj) -> None:
        uid = pod["metadata"]["uid"]
        self._dismiss(uid)
        self._seen.pop(uid, None)

    def woken(self, flags: int) -> None:
        if flags & verdict.VOLUMES:
            self._claims.changed()
        if not len(self._pending):
            self._by_labels = bool(self._ledger.repelling)
        elif self._pending.has_parked or self._by_labels != bool(self._ledger.repelling):
            self._news |= flags
            self._soon()

    def _queue(self, obj: Obj) -> None:
        uid = obj["metadata"]["uid"]
        shape = self._cluster.shapes.of(obj)
        known = self._pending.get(uid)
        if known is not None:
            same = known.shape is shape and known.obj["metadata"].get("labels") == obj["metadata"].get(
                "labels"
            )
            known.obj = obj
            if same:
                return
            self._pending.take_out(uid, forget=False)
        elif uid in self._failures:
            return  # it comes back by itself, after its pause
        pod = Pod(obj, shape)
        self._seen.setdefault(uid, self._clock.monotonic())
        self._add(pod)

    def _add(self, pod: Pod, key: Hashable = None) -> None:
        group = self._pending.add(pod, key if key is not None else self._key(pod))
        if group.parked:
            assert group.plan is not None
            self._tell([pod], group.plan)
            group.untold.clear()
        else:
            self._soon()

    def _key(self, pod: Pod) -> Hashable:
        """Pods with the same key get the same answer."""
        key: tuple[Hashable, ...] = (pod.shape, pod.priority)
        claims = pod_claims.claims_of(pod.obj) if pod.obj["spec"].get("volumes") else None
        if claims:
            key = (*key, pod.key[0], *claims)
        if self._by_labels:
            key = (*key, pod.key[0], frozenset(pod.labels.items()))
        return key

    def _regroup(self) -> None:
        """From now on, or no more, labels of pods decide where they may go."""
        self._by_labels = bool(self._ledger.repelling)
        for group in [*self._pending.groups]:
            for pod in [*group.pods.values()]:
                self._pending.take_out(pod.uid, forget=False)
                self._add(pod)

    def _dismiss(self, uid: str) -> None:
        if self._pending.take_out(uid) is not None or uid in self._failures:
            self._reporter.forget(uid)
            self._ledger.withdraw(uid)
        self._failures.pop(uid, None)
        if uid not in self._ledger.pods:
            self._seen.pop(uid, None)

    # ---- passes

    def _soon(self) -> None:
        if not self._due and self._running:
            self._due = True
            asyncio.get_running_loop().call_soon(self._pass)

    def _pass(self) -> None:
        self._due = False
        if self._news:
            if self._by_labels != bool(self._ledger.repelling):
                self._regroup()
            self._pending.wake(self._news)
            self._news = 0
        view = self._cluster.view()
        for _ in range(_TURN):
            if not self._running or self._binder.busy or (group := self._pending.pop()) is None:
                return
            self._try(group, view)
        self._soon()

    def _try(self, group: Group, view: View) -> None:
        pod = next(iter(group.pods.values()))
        try:
            plan = decide(pod, view)
        except Exception:
            log.exception("deciding about pod %s/%s failed", *pod.key)
            self._pending.take_out(pod.uid, forget=False)
            self._pending.again(group)
            self._failed(pod, "internal error of the scheduler")
            return
        if plan.node:
            self._pending.take_out(pod.uid)
            self._pending.again(group)
            self._place(pod, plan)
        elif plan.victims is not None:
            self._make_room(pod, plan)
            self._pending.again(group)
        else:
            self._metrics.attempt("unschedulable")
            self._tell(self._pending.park(group, plan), plan)

    def _place(self, pod: Pod, plan: Plan) -> None:
        self._ledger.assume(pod, plan.node)
        self._reporter.placed(pod.uid)
        self._explain(pod, plan.why)
        if plan.needs is not None and plan.needs.waiting:
            self._act(self._bind_with_claims(pod, plan))
        else:
            self._binder.start(pod, plan.node)

    async def _bind_with_claims(self, pod: Pod, plan: Plan) -> None:
        assert plan.needs is not None
        problem = await self._claims.settle(pod, plan.needs, plan.node)
        if pod.uid not in self._ledger.assumed:
            return  # the pod went meanwhile
        if problem:
            self._ledger.forget(pod.uid)
            self._failed(pod, problem)
        else:
            await self._binder.bind(pod, plan.node)

    def _make_room(self, pod: Pod, plan: Plan) -> None:
        """Removes the victims and promises the room to this pod alone."""
        victims = plan.victims
        assert victims is not None
        self._pending.take_out(pod.uid, forget=False)
        node = self._ledger.nodes[victims.node]
        for rival in [*node.nominated.values()]:
            if rival.priority < pod.priority:
                self._ledger.withdraw(rival.uid)
                self._act(self._take_back(rival))
                self._pending.unpark(rival.uid)
        self._ledger.nominate(pod, victims.node)
        own = self._pending.add(pod, pod.uid)
        self._pending.park(own, plan)
        self._metrics.attempt("unschedulable")
        self._metrics.victims(len(victims.pods))
        self._reporter.waits(pod, plan.message, plan.numbers, nominated=victims.node)
        self._explain(pod, plan.why)
        for victim in victims.pods:
            self._evictor.preempt(victim, pod, victims.node)

    async def _take_back(self, pod: Pod) -> None:
        """The promise of a node in the status."""
        patch = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}}
        try:
            await self._cluster.client.patch(
                kinds.PODS, pod.key[1], patch, pod.key[0], type=PatchType.STRATEGIC, subresource="status"
            )
        except (StatusError, Unreachable) as err:
            log.debug("pod %s/%s keeps the name of a node it lost: %s", *pod.key, err)

    # ---- afterwards

    def _tell(self, pods: list[Pod], plan: Plan) -> None:
        for pod in pods:
            self._reporter.waits(pod, plan.message, plan.numbers)

    def _waits(self, uid: str) -> bool:
        return uid in self._pending or (uid in self._failures and uid not in self._ledger.pods)

    def _bound(self, pod: Pod, node: str) -> None:
        self._metrics.attempt("scheduled")
        self._failures.pop(pod.uid, None)
        seen = self._seen.pop(pod.uid, None)
        if seen is not None:
            self._metrics.took(self._clock.monotonic() - seen)
        self._ledger.withdraw(pod.uid)
        version = pod.obj["metadata"].get("resourceVersion", "")
        self._reporter.scheduled(pod.key, pod.uid, node, version)

    def _failed(self, pod: Pod, problem: str) -> None:
        """Tries the pod again later; whoever can use the room now may have it."""
        self._metrics.attempt("error")
        count = self._failures[pod.uid] = self._failures.get(pod.uid, 0) + 1
        self._reporter.waits(pod, problem, reason=SCHEDULER_ERROR)
        self._explain(pod, ("the binding failed",), problem)
        self._clock.call_later(_PAUSES.after(count), lambda: self._come_back(pod))
        self._cluster.wake(verdict.ROOM)

    def _come_back(self, pod: Pod) -> None:
        latest = self._cluster.pods.get(*pod.key)
        if latest is None or latest["metadata"]["uid"] != pod.uid or pod.uid not in self._failures:
            return
        if pod.uid not in self._ledger.pods and not latest["spec"].get("nodeName"):
            self._add(self._cluster.shapes.pod(latest))

    def _explain(self, pod: Pod, why: tuple[str, ...], problem: str = "") -> None:
        now = self._clock.now().timestamp()
        self.explanations.add(pod.key, Explanation(pod.uid, now, why, problem))

    def explain(self, namespace: str, name: str) -> list[Explanation]:
        """What was decided about a pod, oldest first; for one that waits, the latest answer last."""
        told = [*self.explanations.of(namespace, name)]
        obj = self._cluster.pods.get(namespace, name)
        group = None if obj is None else self._pending.group_of(obj["metadata"]["uid"])
        if obj is not None and group is not None and group.plan is not None:
            now = self._clock.now().timestamp()
            others = len(group.pods) - 1
            more = (f"{others} other pods of the same shape wait with it",) if others else ()
            told.append(Explanation(obj["metadata"]["uid"], now, (*group.plan.why, *more)))
        elif obj is not None and obj["spec"].get("schedulingGates"):
            gates = ", ".join(gate["name"] for gate in obj["spec"]["schedulingGates"])
            why = (f"waits for its scheduling gates to be removed: {gates}",)
            told.append(Explanation(obj["metadata"]["uid"], self._clock.now().timestamp(), why))
        return told

    def _act(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(doing)
        self._acting.add(task)
        task.add_done_callback(self._acting.discard)

    async def _try_all_now_and_then(self) -> None:
        while True:
            await self._clock.sleep(_ANYWAY_SECONDS)
            self.woken(verdict.EVERYTHING)
