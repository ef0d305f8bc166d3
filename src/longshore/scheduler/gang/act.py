"""Carries out what a cycle decided: binds, evicts, writes group statuses, records events. Never decides.

Everything returns at once and is written in the background. If a binding fails, the scheduler is called, and
tries the pod again later.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Event
from longshore.machinery.events.recorder import reference
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.cache import Cache
from longshore.scheduler.acting.binding import Binder
from longshore.scheduler.acting.evicting import Evictor, preempting
from longshore.scheduler.acting.reporting import SCHEDULER_ERROR, Reporter
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.gang.model.task import BINDING
from longshore.scheduler.gang.pacing import LATER_SECONDS, PAUSE_SECONDS
from longshore.scheduler.gang.plan import Bind, Evict, GangPlan, GroupReport
from longshore.scheduler.gang.writing import Counts, Statuses, Ungater
from longshore.scheduler.metrics import Metrics

if TYPE_CHECKING:
    from longshore.scheduler.gang.scheduler import GangScheduler

_OVER: Final = "Completed"


class Actor:
    """Acts for the gang scheduler. When `run` ends, bindings and statuses under way are given up."""

    def __init__(
        self,
        cluster: Cluster,
        scheduler: GangScheduler,
        queues: Cache,
        *,
        name: str,
        explanations: Explanations,
    ) -> None:
        client, clock, context = cluster.client, cluster.clock, cluster.context
        self._clock, self._ledger, self._queues = clock, cluster.ledger, queues
        self._scheduler, self._pace = scheduler, scheduler.pace
        self._told: dict[str, dict[str, str]] = {}
        """The last event per topic and group, by the group's uid."""
        self.explanations = explanations
        """The decisions about groups, by key."""
        self._recorder = context.recorder(name)
        self.reporter = Reporter(client, self._recorder, clock, scheduler.is_waiting, patience=0.0)
        """Writes reports to pods; call its `placed` or `forget` when a pod has a node or is gone."""
        self._binder = Binder(cluster, bound=self._bound, failed=self._failed)
        self.claims = self._binder.claims
        """Waits for the volumes of claims; call its `changed` when claims change."""
        self._evictor = Evictor(client, self._recorder, clock)
        self._ungater = Ungater(client, failed=self._pace.tell)
        self.statuses = Statuses(client, clock=clock, rng=context.rng, gave_up=scheduler.unwritten)
        """Writes the statuses of groups; call its `seen` when the cache shows a group."""
        self._counts = Counts(client)
        self._metrics = Metrics(context.registry, name, scheduler.waiting_count)

    async def run(self) -> None:
        """Writes until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run())
                tasks.create_task(self.reporter.run())
        finally:
            self._binder.cancel()
            self._ungater.cancel()
            self.statuses.cancel()
            self._counts.cancel()

    def forget_group(self, uid: str) -> None:
        self.statuses.forget(uid)
        self._told.pop(uid, None)

    def carry_out(self, plan: GangPlan) -> None:
        """Carries out the decisions of a whole cycle."""
        for bind in plan.binds:
            self._bind(bind)
        for evict in plan.evictions:
            self._evict(evict)
        for task in plan.ungated:
            self._ungater.start(task.pod)
        self.tell(plan)
        for name, allocated in plan.allocated.items():
            queue = self._queues.get("", name)
            if queue is not None:
                self._counts.put(queue, allocated)

    def tell(self, plan: GangPlan) -> None:
        """Carries out only what the plan says about groups, which is all that the gate decides."""
        for group, event in plan.refusals:
            self._say(group.obj, "refusal", event)
        for report in plan.reports:
            self._report(report)
        if plan.look_again is not None:
            self._pace.room(plan.look_again + PAUSE_SECONDS)

    # ---- groups

    def _report(self, report: GroupReport) -> None:
        """Writes a group's status and records events. If the group's pods are just being bound, its
        conditions are written later, together with the phase that follows the first binding."""
        group, before, phase = report.group, report.group.status.get("phase") or "", report.status["phase"]
        waits_for_binding = group.counts.get(BINDING) and phase == before
        if waits_for_binding and report.changed:
            self.statuses.hold(group.obj, report.status)
        changed = not waits_for_binding and (report.changed or self.statuses.is_held(group.uid))
        ready = partial(self._say, group.obj, "gang", catalogue.event("Scheduled", {}))
        if changed and phase == _OVER:
            # The owner of a group whose pods have ended mostly deletes the group, which then needs no report.
            self.statuses.put(group.obj, report.status, LATER_SECONDS, ready)
        elif changed:
            self.statuses.put(group.obj, report.status)
            if phase == "Pending" and before not in ("", "Pending"):
                self._pace.tell()  # the gang must be admitted again
        if report.waits:
            if group.tasks and group.is_growing is None:
                unschedulable = catalogue.event("GangUnschedulable", {"message": report.waits})
                self._say(group.obj, "gang", unschedulable)
        elif changed and phase != _OVER:
            ready()
        for each in report.tasks:
            self.reporter.waits(each.task.pod, each.message, reason=each.reason)
        now = self._clock.now().timestamp()
        self.explanations.add(group.key, Explanation(group.uid, now, report.why))

    def _say(self, obj: Obj, about: str, event: Event) -> None:
        """Records an event of a group, unless it equals the last one on this topic."""
        told = self._told.setdefault(obj["metadata"]["uid"], {})
        if told.get(about) != event.message:
            told[about] = event.message
            self._recorder.event(reference(obj, kinds.POD_GROUPS), *event)

    # ---- pods

    def _bind(self, bind: Bind) -> None:
        pod = bind.task.pod
        self.reporter.placed(pod.uid)
        self._binder.start(pod, bind.node, bind.needs)

    def _evict(self, evict: Evict) -> None:
        pod = evict.task.pod
        event = catalogue.event("Evict", {"action": evict.action})
        conditions: dict[str, Obj] = {
            "Ready": {"status": "False", "reason": event.reason, "message": event.message},
            "DisruptionTarget": preempting(pod),
        }
        self._metrics.victims(1)
        self._evictor.evict(pod, conditions, event)
        group = reference(evict.group.obj, kinds.POD_GROUPS)
        self._recorder.announce(group, "GangEvicts", action=evict.action)

    def _bound(self, pod: Pod, node: str) -> None:
        self._metrics.attempt("scheduled")
        self.reporter.scheduled(pod, node)

    def _failed(self, pod: Pod, problem: str) -> None:
        self._metrics.attempt("error")
        self.reporter.waits(pod, problem, reason=SCHEDULER_ERROR)
        self._scheduler.unbound(pod)
