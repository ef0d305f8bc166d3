"""The metrics of schedulers, under upstream's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.api.metrics import Registry, exponential_buckets

_BUCKETS: Final = exponential_buckets(0.001, 2, 15)


class Metrics:
    """The metrics of one scheduler, by its name."""

    def __init__(self, registry: Registry, profile: str, waiting: Callable[[], int]) -> None:
        self._profile = profile
        self._attempts = registry.counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule pods, by result.",
            ("result", "profile"),
        )
        self._victims = registry.counter(
            "scheduler_preemption_victims_total", "Pods removed to make room.", ("profile",)
        )
        self._latency = registry.histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From the first look at a pod until its binding was written.",
            ("profile",),
            _BUCKETS,
        )
        registry.gauge("scheduler_pending_pods", "Pods without a node.", ("profile",)).ask(waiting, profile)

    def attempt(self, result: str) -> None:
        """Counts an attempt; `result` is `scheduled`, `unschedulable` or `error`."""
        self._attempts.inc(result, self._profile)

    def victims(self, count: int) -> None:
        self._victims.inc(self._profile, by=count)

    def took(self, seconds: float) -> None:
        self._latency.observe(seconds, self._profile)
