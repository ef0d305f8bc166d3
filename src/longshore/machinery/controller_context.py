"""The parameter that gives a controller everything it works with: client, clock, informers, limits."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from longshore.api.metrics import Registry
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery.events.recorder import Hears, Recorder
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.cache import Key
from longshore.machinery.informers.informer import Informers
from longshore.machinery.queues.backoff import RetryLimiter
from longshore.machinery.queues.queue_metrics import QueueMetrics
from longshore.machinery.queues.workqueue import DEFAULT_PAUSES, WorkQueue
from longshore.machinery.reasons import Reason
from longshore.machinery.time.clock import Clock
from longshore.machinery.work_limits import WorkLimits


class ControllerContext:
    """Makes informers, metrics and explanations for this controller, unless shared ones are given.

    `name` is the controller's name in logs and limits; `workers`, the number of objects that it syncs in
    parallel unless the limits say otherwise. Its queues accept the keys for which `belongs` returns
    true; None accepts all. Queues have metrics only if `measures` is true. Events go to `hears`, if that is
    given, and are not stored.
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
        workers: int = 5,
        limits: WorkLimits | None = None,
        belongs: Callable[[Any], bool] | None = None,
        hears: Hears | None = None,
    ) -> None:
        self.limits = limits = limits or WorkLimits()
        self.client, self.clock, self.rng, self._name, self._measures = client, clock, rng, name, measures
        self.workers, self._belongs, self._hears = limits.workers.get(name, workers), belongs, hears
        self._gauges: dict[str, QueueMetrics] = {}
        self._turns = RetryLimiter(clock, limits.rate, limits.burst)
        self.informers = informers or Informers(client, clock=clock, rng=rng, resync=limits.resync)
        self.registry = registry or Registry()
        self.explanations = explanations or Explanations()

    def recorder(self, component: str) -> Recorder:
        """A recorder of events; its `run` must run beside the controller."""
        return Recorder(self.client, component, clock=self.clock, rng=self.rng, hears=self._hears)

    def queue(self, name: str = "", *, pauses: Doubling = DEFAULT_PAUSES) -> WorkQueue[Any]:
        """A work queue. If it has a name and metrics are wanted, its metrics are under that name."""
        return self.queues(1, name, pauses=pauses)[0]

    def queues(
        self, count: int, name: str = "", *, pauses: Doubling = DEFAULT_PAUSES
    ) -> tuple[WorkQueue[Any], ...]:
        """Makes `count` work queues that share their metrics."""
        gauges = self._gauges.get(name)
        if gauges is None and name and self._measures:
            gauges = self._gauges[name] = QueueMetrics(self.registry, name, self.clock)
        pauses, owner = self.limits.pauses(pauses), self._name or name
        return tuple(
            WorkQueue(
                self.clock,
                pauses=pauses,
                gauges=gauges,
                turns=self._turns,
                owner=owner,
                belongs=self._belongs,
            )
            for _ in range(count)
        )

    def explain(self, key: Key, obj: Obj, why: tuple[Reason, ...], problem: object = None) -> None:
        """Remembers the reasons of a plan for `obj`, and the error with which the plan failed, if any."""
        told = Explanation(obj["metadata"]["uid"], self.clock.now().timestamp(), why, str(problem or ""))
        self.explanations.add(key, told)

    def explaining(self, key: Key, obj: Obj, why: tuple[Reason, ...]) -> AbstractContextManager[None]:
        """Context around acting on a plan: remembers its reasons, and the error if the block raises."""
        now = self.clock.now().timestamp()
        return self.explanations.telling(key, obj["metadata"]["uid"], now, why)
