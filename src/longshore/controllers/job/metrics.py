"""The controller's metrics, under upstream's names."""

from __future__ import annotations

from typing import Final

from longshore.api import indexes
from longshore.api.metrics import Counter, Registry, exponential_buckets
from longshore.api.types import Obj
from longshore.controllers.job.ends.conditions import Outcome
from longshore.controllers.job.plan import JobPlan, PodResults
from longshore.controllers.job.spec import FINALIZER, Spec

_PREFIX: Final = "job_controller_"


class JobMetrics:
    """Counts into `registry`."""

    def __init__(self, registry: Registry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return registry.counter(_PREFIX + name, f"The number of {text}", labels)

        sync = ("completion_mode", "result", "action")
        self._durations = registry.histogram(
            _PREFIX + "job_sync_duration_seconds",
            "The time it took to sync a job",
            sync,
            exponential_buckets(0.004, 2, 15),
        )
        self._syncs = counter("job_syncs_total", "job syncs", *sync)
        self._finished = counter(
            "jobs_finished_total", "finished jobs", "completion_mode", "result", "reason"
        )
        tracked = "finished Pods that are fully tracked"
        self._pods_finished = counter("job_pods_finished_total", tracked, "completion_mode", "result")
        by_policy = "failed Pods handled by failure policy with respect to the failure policy action"
        self._policy = counter("pod_failures_handled_by_failure_policy_total", by_policy, "action")
        holding = f"terminated pods (phase=Failed|Succeeded) that have the finalizer {FINALIZER}"
        self._terminated = counter("terminated_pods_tracking_finalizer_total", holding, "event")
        self._indexes = counter("job_finished_indexes_total", "finished indexes", "status", "backoffLimit")
        created = "Pods created by the Job controller labelled with a reason for the Pod creation"
        self._created = counter("job_pods_creation_total", created, "reason", "status")
        elsewhere = "Jobs managed by an external controller"
        self._external = counter("jobs_by_external_controller_total", elsewhere, "controller_name")
        skipped = "syncs skipped because a cache was older than the controller's own writes"
        self._stale = counter("stale_sync_skips_total", skipped, "group", "resource")

    def synced(self, mode: str, action: str, seconds: float, *, failed: bool) -> None:
        result = "error" if failed else "success"
        self._durations.observe(seconds, mode, result, action)
        self._syncs.inc(mode, result, action)

    def job_finished(self, spec: Spec, outcome: Outcome) -> None:
        self._finished.inc(_mode(spec), "succeeded" if outcome.success else "failed", outcome.reason)

    def counted(self, spec: Spec, before: Obj, after: Obj) -> None:
        """Counts the pods and indexes that a status write moved into the counters."""
        if spec.indexed:
            limit = "global" if spec.per_index is None else "perIndex"
            succeeded = _grown(spec, before, after, "completedIndexes")
            self._add_indexes(succeeded, "succeeded", limit)
            self._add_indexes(_grown(spec, before, after, "failedIndexes"), "failed", limit)
        else:
            succeeded = (after.get("succeeded") or 0) - (before.get("succeeded") or 0)
        failed = (after.get("failed") or 0) - (before.get("failed") or 0)
        if succeeded > 0:
            self._pods_finished.inc(_mode(spec), "succeeded", by=succeeded)
        if failed > 0:
            self._pods_finished.inc(_mode(spec), "failed", by=failed)

    def _add_indexes(self, many: int, status: str, limit: str) -> None:
        if many > 0:
            self._indexes.inc(status, limit, by=many)

    def policy_action(self, action: str, many: int) -> None:
        self._policy.inc(action, by=many)

    def pods_created(self, plan: JobPlan, results: PodResults) -> None:
        """Counts creates as upstream does: every attempt as succeeded, and failed attempts also as failed."""
        if plan.count.failed > 0 and plan.view.job["spec"].get("podReplacementPolicy") == "Failed":
            reason = "recreate_failed"
        elif plan.count.failed > 0 or plan.count.terminating:
            reason = "recreate_terminating_or_failed"
        else:
            reason = "new"
        if results.attempted:
            self._created.inc(reason, "succeeded", by=results.attempted)
        if results.created < results.attempted:
            self._created.inc(reason, "failed", by=results.attempted - results.created)

    def external(self, controller: str) -> None:
        self._external.inc(controller)

    def stale(self, resource: str) -> None:
        name, _, group = resource.partition(".")
        self._stale.inc(group, name)

    def waits(self, now: bool) -> None:
        """Counts a pod that becomes terminal with the finalizer (`now`), or stops being so."""
        self._terminated.inc("add" if now else "delete")


def _mode(spec: Spec) -> str:
    return "Indexed" if spec.indexed else "NonIndexed"


def _grown(spec: Spec, before: Obj, after: Obj, field: str) -> int:
    old, new = before.get(field) or "", after.get(field) or ""
    if old == new:
        return 0
    return indexes.count(indexes.read(new, spec.size)) - indexes.count(indexes.read(old, spec.size))
