"""Whether a Job is to end, and how. The first rule that holds decides; failure comes before success.

A verdict on record (FailureTarget, SuccessCriteriaMet) is never revised.
"""

from __future__ import annotations

from typing import Final

from longshore.api import indexes as runs
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.job.ends import conditions, failure_policy, success_policy
from longshore.controllers.job.ends.conditions import Outcome
from longshore.controllers.job.pods.counting import Count
from longshore.controllers.job.pods.indexes import Indexes
from longshore.controllers.job.spec import Spec
from longshore.controllers.job.view import View

BACKOFF_LIMIT: Final = Outcome(
    "FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
)
DEADLINE: Final = Outcome(
    "FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline"
)
MAX_FAILED_INDEXES: Final = Outcome(
    "FailureTarget",
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
FAILED_INDEXES: Final = Outcome("FailureTarget", "FailedIndexes", "Job has failed indexes")
COMPLETIONS: Final = Outcome(
    "SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods"
)


def recorded(status: Obj) -> Outcome | None:
    """The verdict an earlier sync wrote down."""
    found = conditions.verdict(status.get("conditions") or ())
    if found is None:
        return None
    type = "Failed" if found["type"] == "FailureTarget" else found["type"]
    return Outcome(type, found.get("reason") or "", found.get("message") or "")


def failure(view: View, spec: Spec, count: Count) -> Outcome | None:
    """The reason why the whole Job fails, except for its deadline."""
    if spec.failure_rules and failure_policy.may_fail_job(spec.failure_rules):
        pods = [h.pod for h in count.ended if h.failed]
        for pod in (*pods, *view.roll.untracked_failures.values(), *view.counted_failures):
            verdict = failure_policy.judge(spec.failure_rules, pod)
            if verdict.action == "FailJob":
                return Outcome("FailureTarget", "PodFailurePolicy", verdict.message)
    if count.failed > spec.backoff_limit or (spec.restarts_in_place and _restarted_too_often(view, spec)):
        return BACKOFF_LIMIT
    return None


def _restarted_too_often(view: View, spec: Spec) -> bool:
    """Containers restarted in place leave no failed pod, so their restarts count instead."""
    restarts = view.roll.restarts
    return restarts > 0 if spec.backoff_limit == 0 else restarts >= spec.backoff_limit


def time_left(view: View, spec: Spec, start_time: str | None) -> float | None:
    """Seconds until activeDeadlineSeconds have passed, 0 or less when they have; None without a deadline.

    A suspended Job's clock stands still.
    """
    if spec.deadline is None or start_time is None or spec.suspended:
        return None
    return spec.deadline - (view.now - rfc3339.seconds(start_time))


def of_indexes(spec: Spec, found: Indexes) -> Outcome | None:
    """The verdict of the indexes: too many failed, nothing left to run, or enough succeeded."""
    if found.failed:
        failed = runs.count(found.failed)
        if spec.max_failed_indexes is not None and failed > spec.max_failed_indexes:
            return MAX_FAILED_INDEXES
        if failed + runs.count(found.succeeded) >= spec.size:
            return FAILED_INDEXES
    rule = success_policy.met(spec.success_rules, spec.size, found.succeeded)
    if rule is not None:
        return Outcome("SuccessCriteriaMet", "SuccessPolicy", f"Matched rules at index {rule}")
    return None


def complete(spec: Spec, succeeded: int, active: int) -> bool:
    """Whether the Job has its successes and nothing runs any more."""
    enough = succeeded > 0 if spec.completions is None else succeeded >= spec.completions
    return enough and active == 0
