"""Describes failed pods: how they failed, the action of the failure policy, and when the index is retried.

Decides nothing: tracking.py decides which failures count, and `pods/` when an index is retried.
"""

from __future__ import annotations

from typing import Final

from longshore.api import indexes as runs
from longshore.api.facts import pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.job.ends import failure_policy
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.pods.counting import Held, PodCount
from longshore.controllers.job.pods.indexes import Indexes
from longshore.controllers.job.spec import Spec
from longshore.controllers.job.view import JobView
from longshore.machinery.reasons import Number, Reason

MAX_DESCRIBED: Final = 20
"""Failures described one by one in a sync; the rest are only counted."""
_MAX_MESSAGE_CHARACTERS: Final = 200


def reasons_of(view: JobView, spec: Spec, count: PodCount, found: Indexes | None) -> tuple[Reason, ...]:
    """Returns one reason for each pod that failed since the last count."""
    new = [
        h
        for h in count.ended
        if h.failed and not h.going and not h.killed and h.uid not in count.uncounted_failed
    ]
    why = [_failed(view, spec, each, found) for each in new[:MAX_DESCRIBED]]
    if more := len(new) - len(why):
        why.append(Reason("MoreFailed", {"pods": more}))
    return tuple(why)


def _failed(view: JobView, spec: Spec, each: Held, found: Indexes | None) -> Reason:
    pod = each.pod
    end = pod_state.end_of(pod)
    numbers: dict[str, Number] = {"pod": pod["metadata"]["name"]}
    if each.completion_index != pod_facts.NO_INDEX:
        numbers["index"] = each.completion_index
    if end.container:
        numbers |= {"container": end.container, "exitCode": end.code}
    if end.reason and end.reason != "Error":
        numbers["reason"] = end.reason
    if end.message:
        numbers["message"] = end.message.strip()[:_MAX_MESSAGE_CHARACTERS]
    if each.phase != "Failed":
        numbers["deleted"] = 1
    verdict = failure_policy.judge(spec.failure_rules, pod)
    if verdict.action:
        numbers |= {"action": verdict.action, "rule": verdict.rule}
    if found is not None and spec.per_index is not None:
        numbers |= _of_index(view, spec, each, found)
    return Reason("PodFailed", numbers)


def _of_index(view: JobView, spec: Spec, each: Held, found: Indexes) -> dict[str, Number]:
    """Returns how often the index has failed, and whether and when it is retried."""
    pod: Obj = each.pod
    failures = pod_facts.index_failures(pod) + pod_facts.index_ignored_failures(pod) + 1
    numbers: dict[str, Number] = {"failures": failures}
    if found.failed and runs.contains(found.failed, each.completion_index):
        numbers["indexFailed"] = 1
    elif found.delayed.get(each.completion_index) is pod:
        pause = view.times.after(failures)
        numbers["retryAt"] = rfc3339.from_seconds(pod_facts.finish_time(pod) + pause)
        numbers["seconds"] = round(pause)
    return numbers
