"""Decides whether and how a Job ends. The first rule that matches decides; failure comes before success.

A recorded verdict (FailureTarget, SuccessCriteriaMet) is never revised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api import indexes
from longshore.api.indexes import Runs
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.job.ends import conditions, failure_policy
from longshore.controllers.job.ends.conditions import Outcome
from longshore.controllers.job.pods.counting import PodCount
from longshore.controllers.job.pods.indexes import Indexes
from longshore.controllers.job.spec import Spec
from longshore.controllers.job.view import JobView
from longshore.machinery import catalogue
from longshore.machinery.reasons import Number


def _verdict(type: str, reason: str, **numbers: Number) -> Outcome:
    return Outcome(type, reason, catalogue.event(reason, numbers).message)


BACKOFF_LIMIT: Final = _verdict("FailureTarget", "BackoffLimitExceeded")
DEADLINE: Final = _verdict("FailureTarget", "DeadlineExceeded")
MAX_FAILED_INDEXES: Final = _verdict("FailureTarget", "MaxFailedIndexesExceeded")
FAILED_INDEXES: Final = _verdict("FailureTarget", "FailedIndexes")
COMPLETIONS: Final = _verdict("SuccessCriteriaMet", "CompletionsReached")


def recorded(status: Obj) -> Outcome | None:
    """Returns the verdict that an earlier sync recorded."""
    found = conditions.verdict(status.get("conditions") or ())
    if found is None:
        return None
    type = "Failed" if found["type"] == "FailureTarget" else found["type"]
    return Outcome(type, found.get("reason") or "", found.get("message") or "")


def failure(view: JobView, spec: Spec, count: PodCount) -> Outcome | None:
    """Returns the verdict if the whole Job fails for another reason than its deadline."""
    if spec.failure_rules and failure_policy.may_fail_job(spec.failure_rules):
        pods = [h.pod for h in count.ended if h.failed]
        for pod in (*pods, *view.roll.untracked_failures.values(), *view.counted_failures):
            verdict = failure_policy.judge(spec.failure_rules, pod)
            if verdict.action == "FailJob":
                return Outcome("FailureTarget", "PodFailurePolicy", verdict.message)
    if count.failed > spec.backoff_limit or (spec.restarts_in_place and _restarted_too_often(view, spec)):
        return BACKOFF_LIMIT
    return None


def _restarted_too_often(view: JobView, spec: Spec) -> bool:
    """Whether restarts reach the limit. Containers restarted in place leave no failed pod to count."""
    restarts = view.roll.restarts
    return restarts > 0 if spec.backoff_limit == 0 else restarts >= spec.backoff_limit


def time_left(view: JobView, spec: Spec, start_time: str | None) -> float | None:
    """Returns the seconds until activeDeadlineSeconds are over, 0 or less if they are; None without them.

    A suspended Job has no deadline."""
    if spec.deadline is None or start_time is None or spec.suspended:
        return None
    return spec.deadline - (view.now - rfc3339.seconds(start_time))


def of_indexes(spec: Spec, found: Indexes) -> Outcome | None:
    """Returns the verdict from the indexes: too many failed, none left to run, or the success policy met."""
    if found.failed:
        failed = indexes.count(found.failed)
        if spec.max_failed_indexes is not None and failed > spec.max_failed_indexes:
            return MAX_FAILED_INDEXES
        if failed + indexes.count(found.succeeded) >= spec.size:
            return FAILED_INDEXES
    rule = met_rule(spec.success_rules, spec.size, found.succeeded)
    if rule is not None:
        return _verdict("SuccessCriteriaMet", "SuccessPolicy", rule=rule)
    return None


def complete(spec: Spec, succeeded: int, active: int) -> bool:
    """Whether the Job has enough successes and no active pods."""
    enough = succeeded > 0 if spec.completions is None else succeeded >= spec.completions
    return enough and active == 0


def met_rule(rules: Sequence[Obj], completions: int, succeeded: Runs) -> int | None:
    """Returns the position of the first rule that is met; None if none is."""
    if not succeeded:
        return None
    for at, rule in enumerate(rules):
        if _is_met(rule, completions, succeeded):
            return at
    return None


def _is_met(rule: Obj, completions: int, succeeded: Runs) -> bool:
    count: int | None = rule.get("succeededCount")
    if (text := rule.get("succeededIndexes")) is None:
        return count is not None and indexes.count(succeeded) >= count
    listed = indexes.read(text, completions)
    if not listed:
        return False
    found = indexes.count(indexes.common(listed, succeeded))
    return found == indexes.count(listed) or (count is not None and found >= count)
