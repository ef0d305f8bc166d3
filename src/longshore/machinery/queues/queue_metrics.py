"""The metrics of a work queue."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from longshore.api.metrics import Registry, exponential_buckets
from longshore.machinery.time.clock import Clock

_QUEUE_BUCKETS: Final = exponential_buckets(10e-9, 10, 12)


class QueueMetrics:
    """The metrics of a `WorkQueue`, under client-go's names."""

    def __init__(self, registry: Registry, name: str, clock: Clock) -> None:
        self._name, self._clock = name, clock
        label = ("name",)
        self._adds = registry.counter("workqueue_adds_total", "Keys added.", label)
        self._retries = registry.counter("workqueue_retries_total", "Keys added after a failure.", label)
        self._waited = registry.histogram(
            "workqueue_queue_duration_seconds", "How long keys waited.", label, _QUEUE_BUCKETS
        )
        self._worked = registry.histogram(
            "workqueue_work_duration_seconds", "How long a sync took.", label, _QUEUE_BUCKETS
        )
        self._added: dict[Hashable, float] = {}
        self._taken: dict[Hashable, float] = {}
        for metric, help, number in (
            ("workqueue_depth", "Keys to be looked at now.", lambda: len(self._added)),
            ("workqueue_unfinished_work_seconds", "Time spent in syncs that still run.", self._unfinished),
            ("workqueue_longest_running_processor_seconds", "Time of the longest of them.", self._longest),
        ):
            registry.gauge(metric, help, label).ask(number, name)

    def added(self, key: Hashable) -> None:
        self._added[key] = self._clock.monotonic()
        self._adds.inc(self._name)

    def taken(self, key: Hashable) -> None:
        now = self._clock.monotonic()
        self._waited.observe(now - self._added.pop(key, now), self._name)
        self._taken[key] = now

    def finished(self, key: Hashable) -> None:
        begun = self._taken.pop(key, None)
        if begun is not None:
            self._worked.observe(self._clock.monotonic() - begun, self._name)

    def retried(self) -> None:
        self._retries.inc(self._name)

    def _unfinished(self) -> float:
        now = self._clock.monotonic()
        return sum(now - begun for begun in self._taken.values())

    def _longest(self) -> float:
        return self._clock.monotonic() - min(self._taken.values()) if self._taken else 0.0
