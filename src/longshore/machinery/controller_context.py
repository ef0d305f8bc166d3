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
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.cache import Key
from longshore.machinery.informers.shared import Informers
from longshore.machinery.queues.queue_metrics import QueueMetrics
from longshore.machinery.queues.workqueue import DEFAULT_PAUSES, WorkQueue
from longshore.machinery.reasons import Reason
from longshore.machinery.time.clock import Clock


class ControllerContext:
    """A controller that shares nothing with others gets informers, metrics and explanations of its own."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        informers: Informers | None = None,
        registry: Registry | None = None,
        explanations: Explanations | None = None,
    ) -> None:
        self.client, self.clock, self.rng = client, clock, rng
        self.informers = informers or Informers(client, clock=clock, rng=rng)
        self.registry = registry or Registry()
        self.explanations = explanations or Explanations()

    def recorder(self, component: str) -> Recorder:
        """A recorder of events, which must run beside the controller."""
        return Recorder(self.client, component, clock=self.clock, rng=self.rng)

    def queue(self, name: str = "", *, pauses: Doubling = DEFAULT_PAUSES) -> WorkQueue[Any]:
        """A work queue. One with a name has metrics under it."""
        gauges = QueueMetrics(self.registry, name, self.clock) if name else None
        return WorkQueue(self.clock, pauses=pauses, gauges=gauges)

    def explain(self, key: Key, obj: Obj, why: tuple[Reason, ...], problem: object = None) -> None:
        """Remembers the reasons of a plan for `obj`, and the error that kept it from being carried out."""
        told = Explanation(obj["metadata"]["uid"], self.clock.now().timestamp(), why, str(problem or ""))
        self.explanations.add(key, told)

    def explaining(self, key: Key, obj: Obj, why: tuple[Reason, ...]) -> AbstractContextManager[None]:
        """Around carrying a plan out: remembers its reasons, and the error if that raises."""
        now = self.clock.now().timestamp()
        return self.explanations.telling(key, obj["metadata"]["uid"], now, why)
