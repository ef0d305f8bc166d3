"""The status of a JobFlow: its Jobs by phase, the history of each, and the flow's own phase.

The history of a Job is read from its conditions, which have a time each. So it is complete even if the Job
was quicker than the controller, or ran while no controller did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from longshore.api import types
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.time import durations, rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj

_LISTS: Final = {
    "Pending": "pendingJobs",
    "Running": "runningJobs",
    "Failed": "failedJobs",
    "Completed": "completedJobs",
    "Terminated": "terminatedJobs",
}
_UNLISTED: Final = ("Completing", "Terminating")
_UNKNOWN: Final = "unKnowJobs"


def updated(flow: Obj, jobs: Sequence[Obj], now: str) -> Obj:
    """Returns the status for these Jobs."""
    entries = [entry["name"] for entry in (flow.get("spec") or {}).get("flows") or ()]
    place = {f"{flow['metadata']['name']}-{entry}": number for number, entry in enumerate(entries)}
    jobs = sorted(jobs, key=lambda job: place.get(job["metadata"]["name"], len(place)))
    before = flow.get("status") or {}
    status: Obj = {}
    for job in jobs:
        phase = phase_of(job)
        if phase not in _UNLISTED:
            status.setdefault(_LISTS.get(phase, _UNKNOWN), []).append(job["metadata"]["name"])
    if jobs:
        status["conditions"] = {job["metadata"]["name"]: _condition(job) for job in jobs}
    if listed := _job_statuses(before.get("jobStatusList") or (), jobs, now):
        status["jobStatusList"] = listed
    status["state"] = {"phase": _phase(phase_of(flow) or "Pending", status, len(entries))}
    return status


def _phase(phase: str, status: Obj, entries: int) -> str:
    """Returns the flow's next phase. Only Pending and Running flows change theirs here."""
    failed, over = bool(status.get("failedJobs")), bool(status.get("terminatedJobs"))
    completed = len(status.get("completedJobs") or ())
    if phase == "Pending":
        if (status.get("runningJobs") or completed) and not failed:
            phase = "Running"
        elif failed or over:
            return "Failed"
    if phase == "Running":
        if completed == entries:
            return "Succeed"
        if failed or over:
            return "Failed"
    return phase


def _condition(job: Obj) -> Obj:
    status = job.get("status") or {}
    found: Obj = {"createTime": job["metadata"]["creationTimestamp"]}
    if phase_of(job):
        found["phase"] = phase_of(job)
    for key in ("runningDuration", "taskStatusCount"):
        if status.get(key):
            found[key] = status[key]
    return found


def _job_statuses(before: Sequence[Obj], jobs: Sequence[Obj], now: str) -> list[Obj]:
    """Returns one entry per Job that ever existed; entries of deleted Jobs do not change."""
    found = {entry["name"]: entry for entry in before}
    for job in jobs:
        name = job["metadata"]["name"]
        old = found.get(name)
        if old is not None and old.get("startTimestamp") != job["metadata"]["creationTimestamp"]:
            old = None  # another Job of that name
        found[name] = _job_status(job, (old or {}).get("runningHistories") or (), now)
    return list(found.values())


def _job_status(job: Obj, histories: Sequence[Obj], now: str) -> Obj:
    status = job.get("status") or {}
    created = job["metadata"]["creationTimestamp"]
    found: Obj = {"name": job["metadata"]["name"], "startTimestamp": created}
    if phase_of(job):
        found["state"] = phase_of(job)
    if status.get("runningDuration"):
        lasted = durations.parse(status["runningDuration"]) // 1_000_000_000
        found["endTimestamp"] = rfc3339.from_seconds(rfc3339.parse(created) // SECOND + lasted)
    if status.get("retryCount"):
        found["restartCount"] = status["retryCount"]
    if kept := _histories(job, histories, now):
        found["runningHistories"] = kept
    return found


def _histories(job: Obj, before: Sequence[Obj], now: str) -> list[Obj]:
    """Returns the known history, followed by the phases of the Job since then."""
    found: list[Obj] = types.copy_of(list(before))
    phase = phase_of(job)
    last = found[-1]["state"] if found else ""
    if not phase or phase == last:
        return found
    passed: list[dict[str, Any]] = list((job.get("status") or {}).get("conditions") or ())
    states = [condition["status"] for condition in passed]
    if last in states:
        passed = passed[states.index(last) + 1 :]
    steps = [(c["status"], c.get("lastTransitionTime") or now) for c in passed]
    if not steps or steps[-1][0] != phase:
        steps.append((phase, now))
    for state, at in steps:
        if found:
            found[-1]["endTimestamp"] = at
        found.append({"state": state, "startTimestamp": at})
    return found
