"""Everything that each controller works with, in one parameter."""

from __future__ import annotations

import random
from contextlib import AbstractContextManager
from typing import Any

from longshore.api.metrics import Registry
from longshore.api.time.doubling import Doubling
from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.events.traffic import Traffic
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.cache import Key
from longshore.machinery.informers.shared import Informers
from longshore.machinery.queues.key_gate import KeyGate
from longshore.machinery.queues.queue_metrics import QueueMetrics
from longshore.machinery.queues.retry_limiter import RetryLimiter
from longshore.machinery.queues.workqueue import DEFAULT_PAUSES, WorkQueue
from longshore.machinery.reasons import Reason
from longshore.machinery.time.clock import Clock
from longshore.machinery.work_limits import WorkLimits


class ControllerContext:
    """A controller that shares nothing with others gets informers, metrics and explanations of its own.

    `name` is the controller's, in logs and limits. Its queues are behind the `gate`. In `gauges` several that
    look after different objects measure their queues together; unless it `measures`, queues are not. In
    `traffic` their events share one way.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        informers: Informers | None = None,
        registry: Registry | None = None,
        explanations: Explanations | None = None,
        measures: bool = True,
        name: str = "",
        limits: WorkLimits | None = None,
        gate: KeyGate | None = None,
        gauges: dict[str, QueueMetrics] | None = None,
        traffic: dict[str, Traffic] | None = None,
    ) -> None:
        self.limits = limits = limits or WorkLimits()
        self.client, self.clock, self.rng, self._name, self._measures = client, clock, rng, name, measures
        self._gate, self._gauges = gate, {} if gauges is None else gauges
        self._traffic = {} if traffic is None else traffic
        self._turns = RetryLimiter(clock, limits.rate, limits.burst)
        self.informers = informers or Informers(client, clock=clock, rng=rng, resync=limits.resync)
        self.registry = registry or Registry()
        self.explanations = explanations or Explanations()

    def recorder(self, component: str) -> Recorder:
        """A recorder of events, which must run beside the controller."""
        traffic = self._traffic.setdefault(component, Traffic())
        return Recorder(self.client, component, clock=self.clock, rng=self.rng, traffic=traffic)

    def workers(self, own: int) -> int:
        """How many objects are looked at side by side by a controller that has its own number."""
        return self.limits.workers.get(self._name, own)

    def queue(self, name: str = "", *, pauses: Doubling = DEFAULT_PAUSES) -> WorkQueue[Any]:
        """A work queue. One with a name has metrics under it, if they are wanted."""
        return self.queues(1, name, pauses=pauses)[0]

    def queues(
        self, count: int, name: str = "", *, pauses: Doubling = DEFAULT_PAUSES
    ) -> tuple[WorkQueue[Any], ...]:
        """So many work queues that have their metrics together."""
        gauges = self._gauges.get(name)
        if gauges is None and name and self._measures:
            gauges = self._gauges[name] = QueueMetrics(self.registry, name, self.clock)
        pauses, owner = self.limits.pauses(pauses), self._name or name
        return tuple(
            WorkQueue(
                self.clock, pauses=pauses, gauges=gauges, turns=self._turns, owner=owner, gate=self._gate
            )
            for _ in range(count)
        )

    def explain(self, key: Key, obj: Obj, why: tuple[Reason, ...], problem: object = None) -> None:
        """Remembers the reasons of a plan for `obj`, and the error that kept it from being carried out."""
        told = Explanation(obj["metadata"]["uid"], self.clock.now().timestamp(), why, str(problem or ""))
        self.explanations.add(key, told)

    def explaining(self, key: Key, obj: Obj, why: tuple[Reason, ...]) -> AbstractContextManager[None]:
        """Around carrying a plan out: remembers its reasons, and the error if that raises."""
        now = self.clock.now().timestamp()
        return self.explanations.telling(key, obj["metadata"]["uid"], now, why)
