"""Records inferred from objects if none were kept: a story for a cluster whose controllers record no reasons.

Says less than the controllers would: which pods were created together, which failed and how, the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from longshore.api import indexes
from longshore.api.facts import job_state, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.reasons import Number
from longshore.machinery.records import Record
from longshore.why.story import StoryView

_NOBODY: Final = ""
"""The source of inferred records, which no controller wrote."""


def of_job(view: StoryView) -> Iterator[Record]:
    """The records of a Job, from its conditions and its pods."""
    if view.obj is None:
        return
    together: dict[str, list[Obj]] = {}
    for pod in view.pods:
        together.setdefault(pod["metadata"]["creationTimestamp"], []).append(pod)
    for at, pods in together.items():
        yield _record(view, rfc3339.seconds(at), "PodsCreated", _created(view, pods))
    for pod in view.pods:
        if pod_state.phase_of(pod) == "Failed":
            yield _record(view, _end_of(pod), "PodFailed", _failed(pod))
    if ended := job_state.end_of(view.obj):
        yield _record(view, end_time(view.obj, ended), ended["type"], _ended(view, ended))


def end_time(job: Obj, ended: Obj) -> float:
    """When a Job ended: the time of the condition that ended it, or else the best other time known."""
    completed = (job.get("status") or {}).get("completionTime")
    created = job["metadata"].get("creationTimestamp")
    return rfc3339.seconds(ended.get("lastTransitionTime") or completed or created)


def _record(view: StoryView, at: float, code: str, numbers: dict[str, Number]) -> Record:
    return Record(at, view.kind.word, view.namespace, view.name, view.uid, _NOBODY, code, numbers=numbers)


def _created(view: StoryView, pods: list[Obj]) -> dict[str, Number]:
    numbers: dict[str, Number] = {"pods": len(pods)}
    for key in ("completions", "parallelism"):
        if view.spec.get(key) is not None:
            numbers[key] = view.spec[key]
    found = sorted(index for pod in pods if (index := pod_state.completion_index(pod)) is not None)
    if found:
        numbers["indexes"] = indexes.write(indexes.from_sorted(found))
    return numbers


def _failed(pod: Obj) -> dict[str, Number]:
    end = pod_state.end_of(pod)
    numbers: dict[str, Number] = {"pod": pod["metadata"]["name"]}
    if (index := pod_state.completion_index(pod)) is not None:
        numbers["index"] = index
    if end.container:
        numbers |= {"container": end.container, "exitCode": end.code}
    if end.reason:
        numbers["reason"] = end.reason
    if end.message:
        numbers["message"] = end.message
    return numbers


def _end_of(pod: Obj) -> float:
    """When the last container ended; the pod's creation if none has."""
    ends = [
        rfc3339.seconds(ended["finishedAt"])
        for container in pod_state.statuses_of(pod)
        if (ended := (container.get("state") or {}).get("terminated")) and ended.get("finishedAt")
    ]
    return max(ends, default=rfc3339.seconds(pod["metadata"]["creationTimestamp"]))


def _ended(view: StoryView, condition: Obj) -> dict[str, Number]:
    status = view.status
    numbers: dict[str, Number] = {
        "reason": condition.get("reason") or "",
        "message": condition.get("message") or "",
        "succeeded": status.get("succeeded") or 0,
        "failed": status.get("failed") or 0,
    }
    if status.get("failedIndexes"):
        numbers["failedIndexes"] = status["failedIndexes"]
    return numbers
