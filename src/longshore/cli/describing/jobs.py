"""Describes a Job or a CronJob."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from longshore.api.facts import own_names
from longshore.api.time import ages
from longshore.api.types import Obj
from longshore.apiserver.tables.cells import selector_text
from longshore.cli.describing import pods
from longshore.cli.describing.description_lines import NONE, Lines, controlled_by, head, when
from longshore.cli.showing import event_lines

_UNSET: Final = "<unset>"
_MAX_CHARACTERS: Final = 50


def describe(job: Obj, happened: Sequence[Obj], now: datetime) -> str:
    lines = Lines()
    meta, spec, status = job["metadata"], job["spec"], job.get("status") or {}
    head(lines, job)
    if spec.get("selector"):
        lines.pair(0, "Selector", selector_text(spec["selector"]))
    lines.labels("Labels", meta.get("labels"))
    lines.annotations("Annotations", meta.get("annotations"))
    controlled_by(lines, job)
    for title, key in (("Retry Of", own_names.RETRY_OF), ("Retried By", own_names.RETRIED_BY)):
        if other := (meta.get("annotations") or {}).get(key):
            lines.pair(0, title, f"Job/{other}")
    _numbers(lines, spec)
    lines.pair(0, "Completion Mode", spec.get("completionMode", "NonIndexed"))
    lines.pair(0, "Suspend", "true" if spec.get("suspend") else "false")
    lines.pair(0, "Backoff Limit", spec.get("backoffLimit", 6))
    if spec.get("ttlSecondsAfterFinished") is not None:
        lines.pair(0, "TTL Seconds After Finished", spec["ttlSecondsAfterFinished"])
    started, completed = status.get("startTime"), status.get("completionTime")
    if started:
        lines.pair(0, "Start Time", when(started))
    if completed:
        lines.pair(0, "Completed At", when(completed))
    if started and completed:
        lines.pair(0, "Duration", ages.between(started, completed))
    if spec.get("activeDeadlineSeconds") is not None:
        lines.pair(0, "Active Deadline Seconds", f"{spec['activeDeadlineSeconds']}s")
    ready = f" ({status['ready']} Ready)" if "ready" in status else ""
    counts = (status.get(key, 0) for key in ("active", "succeeded", "failed"))
    lines.pair(
        0, "Pods Statuses", "{} Active{} / {} Succeeded / {} Failed".format(next(counts), ready, *counts)
    )
    if spec.get("completionMode") == "Indexed":
        lines.pair(0, "Completed Indexes", _indexes(status.get("completedIndexes", "")))
    pods.template(lines, spec["template"])
    event_lines.table(lines, happened, now)
    return lines.text()


def cronjob(cronjob: Obj, happened: Sequence[Obj], now: datetime) -> str:
    lines = Lines()
    meta, spec, status = cronjob["metadata"], cronjob["spec"], cronjob.get("status") or {}
    job = spec["jobTemplate"]["spec"]
    head(lines, cronjob)
    lines.labels("Labels", meta.get("labels"))
    lines.annotations("Annotations", meta.get("annotations"))
    lines.pair(0, "Schedule", spec["schedule"])
    lines.pair(0, "Concurrency Policy", spec.get("concurrencyPolicy", "Allow"))
    lines.pair(0, "Suspend", "True" if spec.get("suspend") else "False")
    if spec.get("timeZone"):
        lines.pair(0, "Time Zone", spec["timeZone"])
    for title, key in (("Successful", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
        lines.pair(0, f"{title} Job History Limit", spec.get(key, _UNSET))
    late = spec.get("startingDeadlineSeconds")
    lines.pair(0, "Starting Deadline Seconds", _UNSET if late is None else f"{late}s")
    lines.pair(0, "Selector", selector_text(job["selector"]) if job.get("selector") else _UNSET)
    _numbers(lines, job)
    if job.get("activeDeadlineSeconds") is not None:
        lines.pair(0, "Active Deadline Seconds", f"{job['activeDeadlineSeconds']}s")
    pods.template(lines, job["template"])
    last = status.get("lastScheduleTime")
    lines.pair(0, "Last Schedule Time", when(last) if last else _UNSET)
    active = ", ".join(each.get("name", "") for each in status.get("active") or ())
    lines.pair(0, "Active Jobs", active or NONE)
    event_lines.table(lines, happened, now)
    return lines.text()


def _numbers(lines: Lines, spec: Obj) -> None:
    for title, key in (("Parallelism", "parallelism"), ("Completions", "completions")):
        lines.pair(0, title, spec.get(key, _UNSET))


def _indexes(text: str) -> str:
    """All indexes, or the first ones that fit into the limit."""
    if len(text) <= _MAX_CHARACTERS:
        return text or NONE
    return text[: text.rindex(",", 0, _MAX_CHARACTERS) + 1] + "..." if "," in text[:_MAX_CHARACTERS] else text
