"""Counts a Job's pods: active, ready, terminating, and those that ended since the last count.

Only reads. tracking.py describes how each finished pod is counted exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from longshore.api.types import Obj
from longshore.controllers.job.ends import conditions, failure_policy
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.pods.roll import RollEntry
from longshore.controllers.job.spec import Spec
from longshore.controllers.job.view import JobView


class Held(NamedTuple):
    """A pod that still has the tracking finalizer."""

    pod: Obj
    uid: str
    phase: str
    failed: bool
    """Whether the pod counts as failed: by phase or, unless `only_replace_failed`, by deletion."""
    completion_index: int
    going: bool
    """Whether the finalizer is already removed and only the cache still shows it."""
    killed: bool
    """Whether the pod was deleted after the verdict was recorded, so that its end does not count."""


class PodCount(msgspec.Struct):
    """The pods of a Job in numbers, and those of them that ended since the last count."""

    active: int
    ready: int
    terminating: int
    """Pods being deleted that have not ended, with or without the finalizer."""
    ended: list[Held]
    """The held pods that have ended or count as failed."""
    uncounted_succeeded: frozenset[str]
    uncounted_failed: frozenset[str]
    new_succeeded: list[Obj]
    new_failed: list[Obj]
    succeeded: int
    """All succeeded pods so far, including uncounted and new ones."""
    failed: int
    """All failed pods so far, without those that the podFailurePolicy ignores."""


def count(view: JobView, spec: Spec) -> PodCount:
    """Counts the pods of `view`. Iterates only over tracked pods that ended or are being deleted."""
    status, roll = view.job.get("status") or {}, view.roll
    uncounted: Mapping[str, list[str]] = status.get("uncountedTerminatedPods") or {}
    uncounted_succeeded = frozenset(uncounted.get("succeeded") or ())
    uncounted_failed = frozenset(uncounted.get("failed") or ())
    ended: list[Held] = []
    new_succeeded: list[Obj] = []
    new_failed: list[Obj] = []
    for h in held(view, spec, roll.leaving.values()) if roll.leaving else ():
        if not h.failed and h.phase != "Succeeded":
            continue
        ended.append(h)
        if h.going or (spec.indexed and not valid(h.completion_index, spec)):
            continue
        if h.uid in uncounted_failed:
            continue  # it stays failed, even if it succeeded just when it was deleted
        if h.failed:
            new_failed.append(h.pod)
        elif h.uid not in uncounted_succeeded:
            new_succeeded.append(h.pod)
    ignored = 0
    if spec.failure_rules:
        ignored = sum(not failure_policy.judge(spec.failure_rules, pod).counted for pod in new_failed)
    return PodCount(
        len(roll.active),
        roll.ready,
        len(roll.terminating),
        ended,
        uncounted_succeeded,
        uncounted_failed,
        new_succeeded,
        new_failed,
        (status.get("succeeded") or 0) + len(new_succeeded) + len(uncounted_succeeded),
        (status.get("failed") or 0) + len(new_failed) - ignored + len(uncounted_failed),
    )


def held(view: JobView, spec: Spec, entries: Iterable[RollEntry]) -> list[Held]:
    """Judges tracked pods by the Job's spec and status."""
    status = view.job.get("status") or {}
    decided = conditions.verdict(status.get("conditions") or ()) is not None
    by_deletion, going = not spec.only_replace_failed, view.going
    found: list[Held] = []
    for e in entries:
        phase, deleting, uid = e.phase, e.deleting, e.uid
        failed = phase == "Failed" or (deleting and by_deletion and phase != "Succeeded")
        index = e.index if spec.indexed else pod_facts.NO_INDEX
        found.append(Held(e.pod, uid, phase, failed, index, uid in going, decided and deleting))
    return found


def valid(index: int, spec: Spec) -> bool:
    """Whether this index is below the Job's completions, which may have been lowered."""
    return pod_facts.NO_INDEX < index < spec.size
