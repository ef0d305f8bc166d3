"""The controller's metrics, under upstream's names."""

from __future__ import annotations

from typing import Final

from longshore.api.metrics import Registry, exponential_buckets
from longshore.api.types import Obj
from longshore.controllers.volcano.names import COMPLETED, FAILED

_LABELS: Final = ("job_name", "queue_name")


class VolcanoMetrics:
    """Counts into `registry`."""

    def __init__(self, registry: Registry) -> None:
        self._ends = {
            phase: registry.counter(
                f"volcano_job_{phase.lower()}_phase_count", f"Number of jobs that became {phase}.", _LABELS
            )
            for phase in (COMPLETED, FAILED)
        }
        self._latency = registry.histogram(
            "volcano_controller_job_to_pod_creation_latency_milliseconds",
            "Time from a job's creation to that of its pods.",
            (),
            exponential_buckets(5, 2, 15),
        )

    def changed(self, job: Obj, phase: str) -> None:
        if phase in self._ends:
            self._ends[phase].inc(*_names(job))

    def pod_created(self, milliseconds: float) -> None:
        self._latency.observe(milliseconds)

    def gone(self, job: Obj) -> None:
        """Removes the counters of a deleted Job."""
        for counter in self._ends.values():
            counter.remove(*_names(job))


def _names(job: Obj) -> tuple[str, str]:
    meta = job["metadata"]
    return f"{meta['namespace']}/{meta['name']}", job["spec"].get("queue") or ""
