"""Carries out what was decided about single pods: binds, removes victims, says why others wait.

Never decides. Everything returns at once; what was begun is written in the background. A binding that fails
is told to the scheduler, which looks at the pod again later.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol

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
from longshore.scheduler.single.decide import Plan

_UNBOUND: Final = Reason("BindingFailed", "the binding failed")

log = logging.getLogger(__name__)


class Observer(Protocol):
    """The scheduler of single pods, as far as acting knows it."""

    def soon(self) -> None:
        """There is room for more bindings."""

    def bound(self, uid: str) -> float | None:
        """The pod is bound. How many seconds it waited, if that is known."""

    def unbound(self, pod: Pod) -> None:
        """The pod could not be bound."""

    def is_waiting(self, uid: str) -> bool:
        """Whether the pod still has no node."""

    def waiting_count(self) -> int:
        """How many pods have none."""


class Actor:
    """The hands of the scheduler of single pods. When `run` ends, bindings on their way are given up."""

    def __init__(self, cluster: Cluster, observer: Observer, *, name: str) -> None:
        client, clock, context = cluster.client, cluster.clock, cluster.context
        self._context, self._client, self._ledger = context, client, cluster.ledger
        self._observer, self._recorder = observer, context.recorder(name)
        self._reporter = Reporter(client, self._recorder, clock, observer.is_waiting)
        self._binder = Binder(cluster, bound=self._bound, failed=self.fail, freed=observer.soon)
        self.claims = self._binder.claims
        """Hears when claims, volumes or classes change."""
        self._evictor = Evictor(client, self._recorder, clock)
        self._metrics = Metrics(context.registry, name, observer.waiting_count)
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
        """Whether so many bindings are on their way that the next ones had better wait."""
        return self._binder.busy

    def place(self, pod: Pod, plan: Plan) -> None:
        """Binds the pod to the plan's node, where it counts from now on."""
        self._reporter.placed(pod.uid)
        self._context.explain(pod.key, pod.obj, plan.why)
        self._binder.start(pod, plan.node, plan.needs)

    def assume(self, pod: Pod, plan: Plan) -> None:
        """Has a pod that is being created count on the plan's node from now on."""
        self._ledger.assume(pod, plan.node)
        self._context.explain(pod.key, pod.obj, plan.why)

    def created(self, pod: Pod, node: str) -> None:
        """The pod is stored with the node that was assumed for it."""
        self._metrics.attempt("scheduled")
        self._metrics.took(0.0)
        self._reporter.scheduled(pod, node)

    def make_room(self, pod: Pod, plan: Plan) -> list[Pod]:
        """Removes the plan's victims and promises the room to this pod alone. Gives the less important pods
        that it was promised to before."""
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
        """The promise of a node in the status."""
        patch = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}}
        try:
            await self._client.patch(
                kinds.PODS, pod.key[1], patch, pod.key[0], type=PatchType.STRATEGIC, subresource="status"
            )
        except (StatusError, Unreachable) as err:
            log.debug("pod %s/%s keeps the name of a node it lost: %s", *pod.key, err)

    def park(self, pods: list[Pod], plan: Plan) -> None:
        """Nothing can be done for these pods now; they are told why."""
        self._metrics.attempt("unschedulable")
        self.tell(pods, plan)

    def tell(self, pods: list[Pod], plan: Plan) -> None:
        for pod in pods:
            self._reporter.waits(pod, plan.message, plan.numbers)

    def forget(self, uid: str) -> None:
        """The pod waits no more, and nothing is left to tell it."""
        self._reporter.forget(uid)

    def fail(self, pod: Pod, problem: str) -> None:
        """The pod cannot be bound, or not be decided on, for now."""
        self._metrics.attempt("error")
        self._reporter.waits(pod, problem, reason=SCHEDULER_ERROR)
        self._context.explain(pod.key, pod.obj, (_UNBOUND,), problem)
        self._observer.unbound(pod)

    def _bound(self, pod: Pod, node: str) -> None:
        self._metrics.attempt("scheduled")
        waited = self._observer.bound(pod.uid)
        if waited is not None:
            self._metrics.took(waited)
        self._ledger.withdraw(pod.uid)
        self._reporter.scheduled(pod, node)
