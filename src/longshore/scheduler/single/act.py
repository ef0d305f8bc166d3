"""Carries out decisions about single pods: binds, evicts victims, reports why others wait.

Never decides. Everything returns at once and is written in the background. If a binding fails, the scheduler
is called, and tries the pod again later.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.client import PatchType, Unreachable
from longshore.machinery.background import Background
from longshore.machinery.reasons import Reason
from longshore.scheduler.acting.binding import Binder
from longshore.scheduler.acting.evicting import Evictor
from longshore.scheduler.acting.reporting import SCHEDULER_ERROR, Reporter
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.metrics import Metrics
from longshore.scheduler.single.decide import PlacementPlan

if TYPE_CHECKING:
    from longshore.scheduler.single.scheduler import DefaultScheduler

_UNBOUND: Final = Reason("BindingFailed")

log = logging.getLogger(__name__)


class Actor:
    """Acts for the pod scheduler. When `run` ends, bindings under way are given up."""

    def __init__(self, cluster: Cluster, scheduler: DefaultScheduler, *, name: str) -> None:
        client, clock, context = cluster.client, cluster.clock, cluster.context
        self._context, self._client, self._ledger = context, client, cluster.ledger
        self._scheduler, self._recorder = scheduler, context.recorder(name)
        self._reporter = Reporter(client, self._recorder, clock, scheduler.is_waiting)
        self._binder = Binder(cluster, bound=self._bound, failed=self.fail, freed=scheduler.soon)
        self.claims = self._binder.claims
        """Waits for the volumes of claims; call its `changed` when claims, volumes or classes change."""
        self._evictor = Evictor(client, self._recorder, clock)
        self._metrics = Metrics(context.registry, name, scheduler.waiting_count)
        self._background = Background()

    async def run(self) -> None:
        """Writes until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run())
                tasks.create_task(self._reporter.run())
        finally:
            self._background.cancel()
            self._binder.cancel()

    @property
    def busy(self) -> bool:
        """Whether so many bindings are under way that further ones should wait."""
        return self._binder.busy

    def place(self, pod: Pod, plan: PlacementPlan) -> None:
        """Binds the pod to the plan's node, where it counts from now on."""
        self._reporter.placed(pod.uid)
        self._context.explain(pod.key, pod.obj, plan.why)
        self._binder.start(pod, plan.node, plan.needs)

    def assume(self, pod: Pod, plan: PlacementPlan) -> None:
        """Counts a pod that is being created on the plan's node from now on."""
        self._ledger.assume(pod, plan.node)
        self._context.explain(pod.key, pod.obj, plan.why)

    def created(self, pod: Pod, node: str) -> None:
        """Called when the pod is stored with the node assumed for it."""
        self._metrics.attempt("scheduled")
        self._metrics.took(0.0)
        self._reporter.scheduled(pod, node)

    def make_room(self, pod: Pod, plan: PlacementPlan) -> list[Pod]:
        """Evicts the plan's victims and nominates this pod for their room. Returns the less important pods
        that lose their nomination."""
        victims = plan.victims
        assert victims is not None
        node = self._ledger.nodes[victims.node]
        rivals = [rival for rival in node.nominated.values() if rival.priority < pod.priority]
        for rival in rivals:
            self._ledger.withdraw(rival.uid)
            self._background.spawn(self._take_back(rival))
        self._ledger.nominate(pod, victims.node)
        self._metrics.attempt("unschedulable")
        self._metrics.victims(len(victims.pods))
        self._reporter.waits(pod, plan.message, plan.numbers, nominated=victims.node)
        self._context.explain(pod.key, pod.obj, plan.why)
        for victim in victims.pods:
            self._evictor.preempt(victim, pod, victims.node)
        return rivals

    async def _take_back(self, pod: Pod) -> None:
        """Removes the nomination from the pod's status."""
        patch = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}}
        try:
            await self._client.patch(
                kinds.PODS, pod.key[1], patch, pod.key[0], type=PatchType.STRATEGIC, subresource="status"
            )
        except (StatusError, Unreachable) as err:
            log.debug("pod %s/%s keeps the name of a node it lost: %s", *pod.key, err)

    def park(self, pods: list[Pod], plan: PlacementPlan) -> None:
        """Reports to pods that no node fits now."""
        self._metrics.attempt("unschedulable")
        self.tell(pods, plan)

    def tell(self, pods: list[Pod], plan: PlacementPlan) -> None:
        for pod in pods:
            self._reporter.waits(pod, plan.message, plan.numbers)

    def forget(self, uid: str) -> None:
        """Drops the reports of a pod that no longer waits."""
        self._reporter.forget(uid)

    def fail(self, pod: Pod, problem: str) -> None:
        """Reports that the pod could not be decided on or bound. The pod is tried again."""
        self._metrics.attempt("error")
        self._reporter.waits(pod, problem, reason=SCHEDULER_ERROR)
        self._context.explain(pod.key, pod.obj, (_UNBOUND,), problem)
        self._scheduler.unbound(pod)

    def _bound(self, pod: Pod, node: str) -> None:
        self._metrics.attempt("scheduled")
        waited = self._scheduler.bound(pod.uid)
        if waited is not None:
            self._metrics.took(waited)
        self._ledger.withdraw(pod.uid)
        self._reporter.scheduled(pod, node)
