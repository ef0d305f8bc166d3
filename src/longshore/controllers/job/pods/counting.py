"""Counts a Job's pods in one pass: active, ready, terminating, and those that ended since the last count.

Only reads. How an ended pod gets into the Job's counters exactly once is told in tracking.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.controllers.job.ends import conditions, failure_policy
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.spec import FINALIZER, Spec
from longshore.controllers.job.view import View


class Held(NamedTuple):
    """A pod that still has the tracking finalizer."""

    pod: Obj
    uid: str
    phase: str
    failed: bool
    """Whether it counts as failed, by its phase or, where terminating pods are replaced, by its deletion."""
    completion_index: int
    going: bool
    """The finalizer is gone already; only the cache does not show it yet."""
    killed: bool
    """Deleted after the Job's verdict was on record: how it ended says nothing of the Job."""


class Count(msgspec.Struct):
    """The pods of a Job, sorted out."""

    active: list[Obj]
    active_indexes: list[int]
    """Of the active pods of an Indexed Job, in their order."""
    ready: int
    terminating: list[Obj]
    """Being deleted and not ended, with or without the finalizer."""
    held: list[Held]
    ended: list[Held]
    """The held pods that have ended or count as failed."""
    uncounted_succeeded: frozenset[str]
    uncounted_failed: frozenset[str]
    new_succeeded: list[Obj]
    new_failed: list[Obj]
    succeeded: int
    """Of all times, the uncounted and the new ones included."""
    failed: int
    """The failed pods of all times, without those a podFailurePolicy ignores."""


def count(view: View, spec: Spec) -> Count:
    """Sorts out the pods of `view`. Runs over hundreds of pods in every sync, so it asks each thing once."""
    status = view.job.get("status") or {}
    uncounted: Mapping[str, list[str]] = status.get("uncountedTerminatedPods") or {}
    uncounted_succeeded = frozenset(uncounted.get("succeeded") or ())
    uncounted_failed = frozenset(uncounted.get("failed") or ())
    active: list[Obj] = []
    active_indexes: list[int] = []
    terminating: list[Obj] = []
    held: list[Held] = []
    ended: list[Held] = []
    ready = 0
    indexed, going, by_deletion = spec.indexed, view.going, not spec.only_replace_failed
    decided = conditions.verdict(status.get("conditions") or ()) is not None
    number = pod_facts.NO_INDEX
    for pod in view.pods:
        meta = pod["metadata"]
        phase = pod_state.phase_of(pod)
        deleting = "deletionTimestamp" in meta
        if indexed:
            number = pod_facts.index(pod)
        if phase not in pod_state.ENDED:
            if deleting:
                terminating.append(pod)
            else:
                active.append(pod)
                active_indexes.append(number)
                if pod_state.is_ready(pod):
                    ready += 1
        if FINALIZER in (meta.get("finalizers") or ()):
            uid = meta["uid"]
            failed = phase == "Failed" or (deleting and by_deletion and phase != "Succeeded")
            one = Held(pod, uid, phase, failed, number, uid in going, decided and deleting)
            held.append(one)
            if failed or phase == "Succeeded":
                ended.append(one)
    new = [h for h in ended if not h.going and (not indexed or valid(h.completion_index, spec))]
    new_succeeded = [h.pod for h in new if h.phase == "Succeeded" and h.uid not in uncounted_succeeded]
    new_failed = [h.pod for h in new if h.failed and h.uid not in uncounted_failed]
    ignored = 0
    if spec.failure_rules:
        ignored = sum(not failure_policy.judge(spec.failure_rules, pod).counted for pod in new_failed)
    return Count(
        active,
        active_indexes,
        ready,
        terminating,
        held,
        ended,
        uncounted_succeeded,
        uncounted_failed,
        new_succeeded,
        new_failed,
        (status.get("succeeded") or 0) + len(new_succeeded) + len(uncounted_succeeded),
        (status.get("failed") or 0) + len(new_failed) - ignored + len(uncounted_failed),
    )


def valid(index: int, spec: Spec) -> bool:
    """Whether this is an index of the Job as it is now; an elastic Job may have shrunk."""
    return pod_facts.NO_INDEX < index < spec.size
