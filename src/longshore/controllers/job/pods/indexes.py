"""Finds the state of each index of an Indexed Job: succeeded, failed for good, or waiting for a retry."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from longshore.api import indexes
from longshore.api.indexes import Runs
from longshore.api.types import Obj
from longshore.controllers.job.ends import failure_policy
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.pods.counting import Held, PodCount, valid
from longshore.controllers.job.pods.roll import Roll
from longshore.controllers.job.spec import Spec


class Indexes(msgspec.Struct):
    """The indexes by state, all below the Job's completions, even if these were lowered."""

    before: Runs
    """The indexes in status.completedIndexes."""
    succeeded: Runs
    """`before`, and the indexes whose pods succeeded since."""
    failed: Runs | None = None
    """None without backoffLimitPerIndex."""
    delayed: dict[int, Obj] = msgspec.field(default_factory=dict)
    """The latest failed pod of each index to be retried. It keeps its finalizer until a replacement carries
    on the index's failure count."""


def find(roll: Roll, status: Obj, spec: Spec, count: PodCount) -> Indexes:
    """Finds the indexes in the status and in the pods with a finalizer."""
    before = indexes.read(status.get("completedIndexes") or "", spec.size)
    ended = [h for h in count.ended if valid(h.completion_index, spec) and not h.killed]
    # A pod that is recorded as failed stays failed, even if it succeeded just when it was deleted. A pod
    # without the finalizer is recorded already, or was released.
    succeeded_now = (h for h in ended if h.phase == "Succeeded" and not h.going)
    new = _runs(h.completion_index for h in succeeded_now if h.uid not in count.uncounted_failed)
    if spec.per_index is None:
        return Indexes(before, indexes.merge(before, new))
    # An index may have two pods if a create was repeated. The end that is recorded first counts: the API
    # refuses an index that has both succeeded and failed.
    given_up = indexes.read(status.get("failedIndexes") or "", spec.size)
    succeeded = indexes.merge(before, indexes.without(new, given_up))
    lost = _runs(h.completion_index for h in ended if h.failed and _fails_index(h.pod, spec))
    failed = indexes.merge(given_up, indexes.without(lost, succeeded))
    delayed: dict[int, Obj] = {}
    for each in ended:
        index = each.completion_index
        if each.failed and not each.going and index not in roll.active_indexes:
            if indexes.contains(succeeded, index) or indexes.contains(failed, index):
                continue
            if index not in delayed or _later(each, delayed[index]):
                delayed[index] = each.pod
    return Indexes(before, succeeded, failed, delayed)


def _runs(found: Iterable[int]) -> Runs:
    return indexes.from_sorted(sorted(set(found)))


def _fails_index(pod: Obj, spec: Spec) -> bool:
    """Whether this failure makes the index fail for good."""
    verdict = failure_policy.judge(spec.failure_rules, pod)
    if verdict.action == "FailIndex":
        return True
    assert spec.per_index is not None
    return verdict.counted and pod_facts.index_failures(pod) >= spec.per_index


def _later(one: Held, than: Obj) -> bool:
    """Whether `one` failed at the same time or later, by failure counts and finish times."""
    counts = [
        pod_facts.index_failures(pod) + pod_facts.index_ignored_failures(pod) for pod in (one.pod, than)
    ]
    return counts[0] >= counts[1] and pod_facts.finish_time(one.pod) >= pod_facts.finish_time(than)
