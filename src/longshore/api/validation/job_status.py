"""Allowed changes of a Job's status: rules for every Job controller, longshore's or another.

A rule is checked only when one of its fields changes (`_RULES` has them), so a status that was wrong before
does not block unrelated writes. A few rules are always checked. Problems are in Kubernetes' order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import compress
from operator import ne
from typing import Final, TypeAlias

from longshore.api import field, indexes
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import internal, metadata


class _StatusView:
    """One status and the spec it belongs to, with the facts that the rules need."""

    __slots__ = ("get", "spec", "status", "true")

    def __init__(self, status: Obj, spec: Obj) -> None:
        self.status = status
        self.spec = spec
        self.get = get = status.get
        known = get("conditions")
        self.true = frozenset([c.get("type") for c in known if c.get("status") == "True"]) if known else _NONE

    @property
    def complete(self) -> bool:
        return "Complete" in self.true

    @property
    def failed(self) -> bool:
        return "Failed" in self.true

    @property
    def failure_target(self) -> bool:
        return "FailureTarget" in self.true

    @property
    def criteria_met(self) -> bool:
        return "SuccessCriteriaMet" in self.true

    @property
    def uncounted(self) -> bool:
        pods = self.get("uncountedTerminatedPods") or {}
        return bool(pods.get("succeeded") or pods.get("failed"))


_NONE: Final[frozenset[str]] = frozenset()


def validate_job_status(new: Obj, old: Obj) -> list[FieldError]:
    """All problems of a write to /status, after those that the registry finds itself."""
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    status, last = new.get("status") or {}, old.get("status") or {}
    if status != last:
        now, before = _StatusView(status, new["spec"]), _StatusView(last, old["spec"])
        _counters(status, found)
        _states(now, before, found)
        _transitions(now, before, found)
    return found


def _counters(status: Obj, found: list[FieldError]) -> None:
    found += field.negative(status, "status", *_COUNTERS)
    pods = status.get("uncountedTerminatedPods")
    if not pods:
        return
    seen: set[str] = set()
    for key in ("succeeded", "failed"):
        for i, uid in enumerate(pods.get(key) or ()):
            path = f"status.uncountedTerminatedPods.{key}[{i}]"
            if not uid:
                found.append(field.invalid(path, uid, "must not be empty"))
            elif uid in seen:
                found.append(field.duplicate(path, uid))
            seen.add(uid)


_COUNTERS: Final = ("active", "succeeded", "failed", "ready", "terminating")


def _states(now: _StatusView, before: _StatusView, found: list[FieldError]) -> None:
    fields = tuple(compress(_FIELDS, map(ne, map(now.get, _FIELDS), map(before.get, _FIELDS))))
    for rule in _called_for(fields, now.true, before.true):
        if (problem := rule(now)) is not None:
            found.append(problem)
    if not now.true:
        return
    if now.criteria_met and now.failed:
        found.append(_conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions"))
    if now.criteria_met and now.failure_target:
        found.append(_conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"))
    if now.complete and not now.criteria_met and "successPolicy" in now.spec:
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        found.append(_conditions(text))


def _transitions(now: _StatusView, before: _StatusView, found: list[FieldError]) -> None:
    lost = before.true - now.true if before.true else _NONE
    if lost:
        for condition in ("Failed", "Complete", "FailureTarget"):
            if condition in lost:
                found.append(_conditions(f"cannot disable the terminal {condition}=True condition"))
    get, was = now.get, before.get
    failed, succeeded = get("failed", 0), get("succeeded", 0)
    if failed < was("failed", 0):
        found.append(field.invalid("status.failed", failed, "cannot decrease the failed counter"))
    if succeeded < was("succeeded", 0) and not _is_elastic(now.spec):
        found.append(field.invalid("status.succeeded", succeeded, "cannot decrease the succeeded counter"))
    ended, had_ended = get("completionTime"), was("completionTime")
    if ended is not None and had_ended is not None and ended != had_ended:
        found.append(field.invalid("status.completionTime", ended, field.IMMUTABLE))
    started, had_started = get("startTime"), was("startTime")
    if (
        had_started is not None
        and started != had_started
        and not now.spec.get("suspend")
        and not ("Suspended" in before.true and _is_false(now.status, "Suspended"))
    ):
        text = "field is immutable for unsuspended job once set"
        found.append(field.invalid("status.startTime", started, text))
    if "SuccessCriteriaMet" in lost:
        found.append(_conditions("cannot disable the SuccessCriteriaMet=True condition"))
    if before.true and before.complete and not before.criteria_met and now.criteria_met:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        found.append(_conditions(text))


def _conditions(text: str) -> FieldError:
    return field.invalid("status.conditions", field.NO_VALUE, text)


def _is_elastic(spec: Obj) -> bool:
    """Whether an Indexed Job can be scaled down, which reduces its successes."""
    return spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")


def _is_false(status: Obj, condition: str) -> bool:
    return any(
        c.get("type") == condition and c.get("status") == "False" for c in status.get("conditions") or ()
    )


# --- the rules, each looking at the new status alone


def _complete_and_failed(now: _StatusView) -> FieldError | None:
    if now.failed:
        return _conditions("cannot set Complete=True and Failed=true conditions")
    return None


def _complete_and_target(now: _StatusView) -> FieldError | None:
    if now.failure_target:
        return _conditions("cannot set Complete=True and FailureTarget=true conditions")
    return None


def _completion_time_early(now: _StatusView) -> FieldError | None:
    if now.get("completionTime") is not None and not now.complete:
        text = "cannot set completionTime when there is no Complete=True condition"
        return field.invalid("status.completionTime", now.get("completionTime"), text)
    return None


def _completion_time_missing(now: _StatusView) -> FieldError | None:
    if now.get("completionTime") is None:
        return field.required("status.completionTime", "completionTime is required for Complete jobs")
    return None


def _ends_before_start(now: _StatusView) -> FieldError | None:
    started, ended = now.get("startTime"), now.get("completionTime")
    # Times are kept as RFC 3339 in whole seconds of UTC, so their texts stand in the order of time.
    if started is not None and ended is not None and ended < started:
        return field.invalid("status.completionTime", ended, "must be equal to or after `startTime`")
    return None


def _failed_without_target(now: _StatusView) -> FieldError | None:
    if not now.failure_target:
        return _conditions("cannot set Failed=True condition without the FailureTarget=true condition")
    return None


def _complete_without_criteria(now: _StatusView) -> FieldError | None:
    if not now.criteria_met:
        return _conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    return None


def _finished_with_active(now: _StatusView) -> FieldError | None:
    if now.get("active", 0) > 0:
        return field.invalid("status.active", now.get("active"), "active>0 is invalid for finished job")
    return None


def _finished_without_start(now: _StatusView) -> FieldError | None:
    never_ran = now.spec.get("suspend") and now.spec.get("completions") == 0
    if now.get("startTime") is None and not never_ran:
        return field.required("status.startTime", "startTime is required for finished job")
    return None


def _finished_with_uncounted(now: _StatusView) -> FieldError | None:
    if now.uncounted:
        pods = internal.go_shaped(now.get("uncountedTerminatedPods"))
        return field.invalid("status.uncountedTerminatedPods", pods, "must be empty for finished job")
    return None


def _list_problem(name: str, text: str, spec: Obj) -> FieldError | None:
    try:
        indexes.check(text, spec["completions"])
    except indexes.IndexListError as problem:
        return field.invalid(f"status.{name}", text, f"error parsing {name}: {problem}")
    return None


def _completed_indexes_bad(now: _StatusView) -> FieldError | None:
    if "completions" not in now.spec:
        return None
    return _list_problem("completedIndexes", now.get("completedIndexes", ""), now.spec)


def _failed_indexes_bad(now: _StatusView) -> FieldError | None:
    text = now.get("failedIndexes")
    if text is None or "completions" not in now.spec or "backoffLimitPerIndex" not in now.spec:
        return None
    return _list_problem("failedIndexes", text, now.spec)


def _completed_indexes_of_nonindexed(now: _StatusView) -> FieldError | None:
    text = now.get("completedIndexes", "")
    if text and now.spec.get("completionMode") != "Indexed":
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        return field.invalid("status.completedIndexes", text, why)
    return None


def _failed_indexes_without_limit(now: _StatusView) -> FieldError | None:
    text = now.get("failedIndexes")
    if text is not None and "backoffLimitPerIndex" not in now.spec:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        return field.invalid("status.failedIndexes", text, why)
    return None


def _lists_overlap(now: _StatusView) -> FieldError | None:
    failed, completed = now.get("failedIndexes"), now.get("completedIndexes", "")
    if not failed or not completed or "completions" not in now.spec:
        return None
    both = indexes.common(
        _readable(completed, now.spec["completions"]), _readable(failed, now.spec["completions"])
    )
    if both:
        why = f"failedIndexes and completedIndexes overlap at index: {both[0][0]}"
        return field.invalid("status.failedIndexes", failed, why)
    return None


def _readable(text: str, completions: int) -> indexes.Runs:
    """The readable parts of a list. Another rule reports the others."""
    runs = []
    for fragment in text.split(","):
        try:
            runs.append(indexes.parse_fragment(fragment, completions))
        except indexes.IndexListError:
            continue
    return tuple(runs)


def _finished_with_terminating(now: _StatusView) -> FieldError | None:
    if (now.get("terminating") or 0) > 0:
        text = "terminating>0 is invalid for finished job"
        return field.invalid("status.terminating", now.get("terminating"), text)
    return None


def _more_ready_than_active(now: _StatusView) -> FieldError | None:
    ready = now.get("ready")
    if ready is not None and ready > now.get("active", 0):
        return field.invalid("status.ready", ready, "cannot set more ready pods than active")
    return None


_FIELDS: Final = (
    "completedIndexes", "failedIndexes", "active", "startTime", "completionTime", "uncountedTerminatedPods",
    "ready", "terminating",
)  # fmt: skip
"""Fields that have rules."""

_CONDITIONS: Final = frozenset(("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"))
"""Conditions that have rules."""

_ANY: Final[frozenset[str]] = frozenset()
_COMPLETE: Final = frozenset(("Complete",))
_FAILED: Final = frozenset(("Failed",))
_FINISHED: Final = _COMPLETE | _FAILED

_Rule: TypeAlias = Callable[[_StatusView], FieldError | None]
_RULES: Final[tuple[tuple[tuple[str, ...], frozenset[str], _Rule], ...]] = (
    (("Complete", "Failed"), _COMPLETE, _complete_and_failed),
    (("Complete", "FailureTarget"), _COMPLETE, _complete_and_target),
    (("Complete", "completionTime"), _ANY, _completion_time_early),
    (("Complete", "completionTime"), _COMPLETE, _completion_time_missing),
    (("startTime", "completionTime"), _ANY, _ends_before_start),
    (("Failed", "failedIndexes"), _FAILED, _failed_without_target),
    (("Complete", "SuccessCriteriaMet"), _COMPLETE, _complete_without_criteria),
    (("finished", "active"), _FINISHED, _finished_with_active),
    (("finished", "startTime"), _FINISHED, _finished_without_start),
    (("finished", "uncountedTerminatedPods"), _FINISHED, _finished_with_uncounted),
    (("completedIndexes",), _ANY, _completed_indexes_bad),
    (("failedIndexes",), _ANY, _failed_indexes_bad),
    (("completedIndexes",), _ANY, _completed_indexes_of_nonindexed),
    (("failedIndexes",), _ANY, _failed_indexes_without_limit),
    (("failedIndexes", "completedIndexes"), _ANY, _lists_overlap),
    (("finished", "terminating"), _FINISHED, _finished_with_terminating),
    (("ready", "active"), _ANY, _more_ready_than_active),
)
"""Each rule, in Kubernetes' order, with its triggers: fields, conditions whose truth changes, and whether the
Job is finished. A rule that names conditions is checked only if one of them is true."""


@lru_cache(maxsize=256)
def _called_for(fields: tuple[str, ...], true: frozenset[str], before: frozenset[str]) -> Sequence[_Rule]:
    """The rules to check after these changes. Cached: only a few of all combinations ever occur."""
    changed = {*fields, *(_CONDITIONS & (true ^ before))}
    if _FINISHED.isdisjoint(true) != _FINISHED.isdisjoint(before):
        changed.add("finished")
    return tuple(
        rule
        for triggers, about, rule in _RULES
        if not changed.isdisjoint(triggers) and (not about or not about.isdisjoint(true))
    )
