"""Allowed changes of a Job's status: rules for every Job controller, ours or another.

A rule is checked only when something it speaks of changes (`_RULES` says what), so a status that is
wrong for old reasons does not block unrelated writes. A few rules hold always. Kubernetes' order of
complaints is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import compress
from operator import ne
from typing import Final

from longshore.api import field, indexes
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import internal, metadata
from longshore.api.validation.metadata import IMMUTABLE, NOT_NEGATIVE


class _View:
    """One status and the spec it belongs to, with the questions the rules ask."""

    __slots__ = (
        "complete", "criteria_met", "failed", "failure_target", "finished", "get", "spec", "status", "true",
    )  # fmt: skip

    def __init__(self, status: Obj, spec: Obj) -> None:
        self.status = status
        self.spec = spec
        self.get = get = status.get
        self.true = true = {c.get("type") for c in get("conditions") or () if c.get("status") == "True"}
        self.complete = "Complete" in true
        self.failed = "Failed" in true
        self.failure_target = "FailureTarget" in true
        self.criteria_met = "SuccessCriteriaMet" in true
        self.finished = self.complete or self.failed

    @property
    def uncounted(self) -> bool:
        pods = self.get("uncountedTerminatedPods") or {}
        return bool(pods.get("succeeded") or pods.get("failed"))


def validate_job_status(new: Obj, old: Obj) -> list[FieldError]:
    """All problems of a write to /status, after those that the registry finds itself."""
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    status, last = new.get("status") or {}, old.get("status") or {}
    if status != last:
        now, before = _View(status, new["spec"]), _View(last, old["spec"])
        found += _counters(status)
        found += _states(now, before)
        found += _transitions(now, before)
    return found


def _counters(status: Obj) -> list[FieldError]:
    found = [
        field.invalid(f"status.{key}", status[key], NOT_NEGATIVE)
        for key in _COUNTERS
        if key in status and status[key] is not None and status[key] < 0
    ]
    pods = status.get("uncountedTerminatedPods") or {}
    seen: set[str] = set()
    for key in ("succeeded", "failed"):
        for i, uid in enumerate(pods.get(key) or ()):
            path = f"status.uncountedTerminatedPods.{key}[{i}]"
            if not uid:
                found.append(field.invalid(path, uid, "must not be empty"))
            elif uid in seen:
                found.append(field.duplicate(path, uid))
            seen.add(uid)
    return found


_COUNTERS: Final = ("active", "succeeded", "failed", "ready", "terminating")


def _states(now: _View, before: _View) -> list[FieldError]:
    get, was = now.get, before.get
    fields = tuple(compress(_FIELDS, map(ne, map(get, _FIELDS), map(was, _FIELDS))))
    turned = _CONDITIONS & (now.true ^ before.true)
    rules = _called_for(fields, turned, now.finished != before.finished)
    found = [problem for rule in rules if (problem := rule(now)) is not None]
    if now.criteria_met and now.failed:
        found.append(_conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions"))
    if now.criteria_met and now.failure_target:
        found.append(_conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"))
    if now.complete and not now.criteria_met and "successPolicy" in now.spec:
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        found.append(_conditions(text))
    return found


def _transitions(now: _View, before: _View) -> list[FieldError]:
    found = [
        _conditions(f"cannot disable the terminal {condition}=True condition")
        for condition in ("Failed", "Complete", "FailureTarget")
        if condition in before.true and condition not in now.true
    ]
    failed, succeeded = now.get("failed", 0), now.get("succeeded", 0)
    if failed < before.get("failed", 0):
        found.append(field.invalid("status.failed", failed, "cannot decrease the failed counter"))
    if succeeded < before.get("succeeded", 0) and not _is_elastic(now.spec):
        found.append(field.invalid("status.succeeded", succeeded, "cannot decrease the succeeded counter"))
    ended, had_ended = now.get("completionTime"), before.get("completionTime")
    if ended is not None and had_ended is not None and ended != had_ended:
        found.append(field.invalid("status.completionTime", ended, IMMUTABLE))
    started, had_started = now.get("startTime"), before.get("startTime")
    if (
        had_started is not None
        and started != had_started
        and not now.spec.get("suspend")
        and not ("Suspended" in before.true and _is_false(now.status, "Suspended"))
    ):
        text = "field is immutable for unsuspended job once set"
        found.append(field.invalid("status.startTime", started, text))
    if before.criteria_met and not now.criteria_met:
        found.append(_conditions("cannot disable the SuccessCriteriaMet=True condition"))
    if before.complete and not before.criteria_met and now.criteria_met:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        found.append(_conditions(text))
    return found


def _conditions(text: str) -> FieldError:
    return field.invalid("status.conditions", field.NO_VALUE, text)


def _is_elastic(spec: Obj) -> bool:
    """An Indexed Job that can be scaled down, which takes successes away."""
    return spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")


def _is_false(status: Obj, condition: str) -> bool:
    return any(
        c.get("type") == condition and c.get("status") == "False" for c in status.get("conditions") or ()
    )


# --- the rules, each looking at the new status alone


def _complete_and_failed(now: _View) -> FieldError | None:
    if now.complete and now.failed:
        return _conditions("cannot set Complete=True and Failed=true conditions")
    return None


def _complete_and_target(now: _View) -> FieldError | None:
    if now.complete and now.failure_target:
        return _conditions("cannot set Complete=True and FailureTarget=true conditions")
    return None


def _completion_time_early(now: _View) -> FieldError | None:
    if now.get("completionTime") is not None and not now.complete:
        text = "cannot set completionTime when there is no Complete=True condition"
        return field.invalid("status.completionTime", now.get("completionTime"), text)
    return None


def _completion_time_missing(now: _View) -> FieldError | None:
    if now.get("completionTime") is None and now.complete:
        return field.required("status.completionTime", "completionTime is required for Complete jobs")
    return None


def _ends_before_start(now: _View) -> FieldError | None:
    started, ended = now.get("startTime"), now.get("completionTime")
    # Times are kept as RFC 3339 in whole seconds of UTC, so their texts stand in the order of time.
    if started is not None and ended is not None and ended < started:
        return field.invalid("status.completionTime", ended, "must be equal to or after `startTime`")
    return None


def _failed_without_target(now: _View) -> FieldError | None:
    if now.failed and not now.failure_target:
        return _conditions("cannot set Failed=True condition without the FailureTarget=true condition")
    return None


def _complete_without_criteria(now: _View) -> FieldError | None:
    if now.complete and not now.criteria_met:
        return _conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    return None


def _finished_with_active(now: _View) -> FieldError | None:
    if now.finished and now.get("active", 0) > 0:
        return field.invalid("status.active", now.get("active"), "active>0 is invalid for finished job")
    return None


def _finished_without_start(now: _View) -> FieldError | None:
    never_ran = now.spec.get("suspend") and now.spec.get("completions") == 0
    if now.finished and now.get("startTime") is None and not never_ran:
        return field.required("status.startTime", "startTime is required for finished job")
    return None


def _finished_with_uncounted(now: _View) -> FieldError | None:
    if now.finished and now.uncounted:
        pods = internal.go_shaped(now.get("uncountedTerminatedPods"))
        return field.invalid("status.uncountedTerminatedPods", pods, "must be empty for finished job")
    return None


def _list_problem(name: str, text: str, spec: Obj) -> FieldError | None:
    try:
        indexes.check(text, spec["completions"])
    except indexes.IndexListError as problem:
        return field.invalid(f"status.{name}", text, f"error parsing {name}: {problem}")
    return None


def _completed_indexes_bad(now: _View) -> FieldError | None:
    if "completions" not in now.spec:
        return None
    return _list_problem("completedIndexes", now.get("completedIndexes", ""), now.spec)


def _failed_indexes_bad(now: _View) -> FieldError | None:
    text = now.get("failedIndexes")
    if text is None or "completions" not in now.spec or "backoffLimitPerIndex" not in now.spec:
        return None
    return _list_problem("failedIndexes", text, now.spec)


def _completed_indexes_of_nonindexed(now: _View) -> FieldError | None:
    text = now.get("completedIndexes", "")
    if text and now.spec.get("completionMode") != "Indexed":
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        return field.invalid("status.completedIndexes", text, why)
    return None


def _failed_indexes_without_limit(now: _View) -> FieldError | None:
    text = now.get("failedIndexes")
    if text is not None and "backoffLimitPerIndex" not in now.spec:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        return field.invalid("status.failedIndexes", text, why)
    return None


def _lists_overlap(now: _View) -> FieldError | None:
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
    """The parts of a list that can be read; the others are reported by another rule."""
    runs = []
    for fragment in text.split(","):
        try:
            runs.append(indexes.parse_fragment(fragment, completions))
        except indexes.IndexListError:
            continue
    return tuple(runs)


def _finished_with_terminating(now: _View) -> FieldError | None:
    if now.finished and (now.get("terminating") or 0) > 0:
        text = "terminating>0 is invalid for finished job"
        return field.invalid("status.terminating", now.get("terminating"), text)
    return None


def _more_ready_than_active(now: _View) -> FieldError | None:
    ready = now.get("ready")
    if ready is not None and ready > now.get("active", 0):
        return field.invalid("status.ready", ready, "cannot set more ready pods than active")
    return None


_FIELDS: Final = (
    "completedIndexes", "failedIndexes", "active", "startTime", "completionTime", "uncountedTerminatedPods",
    "ready", "terminating",
)  # fmt: skip
"""Fields that rules are about."""

_CONDITIONS: Final = frozenset(("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"))
"""Conditions that rules are about."""

_RULES: Final[tuple[tuple[tuple[str, ...], Callable[[_View], FieldError | None]], ...]] = (
    (("Complete", "Failed"), _complete_and_failed),
    (("Complete", "FailureTarget"), _complete_and_target),
    (("Complete", "completionTime"), _completion_time_early),
    (("Complete", "completionTime"), _completion_time_missing),
    (("startTime", "completionTime"), _ends_before_start),
    (("Failed", "failedIndexes"), _failed_without_target),
    (("Complete", "SuccessCriteriaMet"), _complete_without_criteria),
    (("finished", "active"), _finished_with_active),
    (("finished", "startTime"), _finished_without_start),
    (("finished", "uncountedTerminatedPods"), _finished_with_uncounted),
    (("completedIndexes",), _completed_indexes_bad),
    (("failedIndexes",), _failed_indexes_bad),
    (("completedIndexes",), _completed_indexes_of_nonindexed),
    (("failedIndexes",), _failed_indexes_without_limit),
    (("failedIndexes", "completedIndexes"), _lists_overlap),
    (("finished", "terminating"), _finished_with_terminating),
    (("ready", "active"), _more_ready_than_active),
)
"""Each rule with the changes that call for it, in Kubernetes' order: fields, conditions that turned true or
ceased to be, and whether the Job is finished."""


@lru_cache(maxsize=256)
def _called_for(
    fields: tuple[str, ...], turned: frozenset[str], finished: bool
) -> Sequence[Callable[[_View], FieldError | None]]:
    """The rules to look at, by what has changed: few combinations of all that are possible ever occur."""
    changed = {*fields, *turned, "finished"} if finished else {*fields, *turned}
    return tuple(rule for triggers, rule in _RULES if not changed.isdisjoint(triggers))
