"""Which status may follow which: the rules that whoever runs a Job must keep, ours or another controller.

A rule is checked only when something it speaks of changes (`_RULES` says what), so a status that is
wrong for old reasons does not block unrelated writes. A few rules hold always. Kubernetes' order of
complaints is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from longshore.api import field, indexes
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import internal, metadata
from longshore.api.validation.metadata import IMMUTABLE, NOT_NEGATIVE


class _View:
    """One status and the spec it belongs to, with the questions the rules ask."""

    __slots__ = ("complete", "criteria_met", "failed", "failure_target", "finished", "spec", "status", "true")

    def __init__(self, status: Obj, spec: Obj) -> None:
        self.status = status
        self.spec = spec
        self.true = {c.get("type") for c in status.get("conditions") or () if c.get("status") == "True"}
        self.complete = "Complete" in self.true
        self.failed = "Failed" in self.true
        self.failure_target = "FailureTarget" in self.true
        self.criteria_met = "SuccessCriteriaMet" in self.true
        self.finished = self.complete or self.failed

    def get(self, key: str, absent: Any = None) -> Any:
        return self.status.get(key, absent)

    @property
    def uncounted(self) -> bool:
        pods = self.get("uncountedTerminatedPods") or {}
        return bool(pods.get("succeeded") or pods.get("failed"))


def validate_job_status(new: Obj, old: Obj) -> list[FieldError]:
    """All problems of a write to /status, after those that the registry finds itself."""
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    if new.get("status") != old.get("status"):
        now = _View(new.get("status") or {}, new["spec"])
        before = _View(old.get("status") or {}, old["spec"])
        found += _counters(now.status)
        found += _states(now, before)
        found += _transitions(now, before)
    return found


def _counters(status: Obj) -> Iterator[FieldError]:
    for key in ("active", "succeeded", "failed", "ready", "terminating"):
        value = status.get(key)
        if value is not None and value < 0:
            yield field.invalid(f"status.{key}", value, NOT_NEGATIVE)
    pods = status.get("uncountedTerminatedPods") or {}
    seen: set[str] = set()
    for key in ("succeeded", "failed"):
        for i, uid in enumerate(pods.get(key) or ()):
            path = f"status.uncountedTerminatedPods.{key}[{i}]"
            if not uid:
                yield field.invalid(path, uid, "must not be empty")
            elif uid in seen:
                yield field.duplicate(path, uid)
            seen.add(uid)


def _states(now: _View, before: _View) -> Iterator[FieldError]:
    changed = {key for key, ask in _WATCHED.items() if ask(now) != ask(before)}
    for triggers, rule in _RULES:
        if not changed.isdisjoint(triggers):
            problem = rule(now)
            if problem is not None:
                yield problem
    if now.criteria_met and now.failed:
        yield _conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if now.criteria_met and now.failure_target:
        yield _conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if "successPolicy" in now.spec and now.complete and not now.criteria_met:
        yield _conditions(
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        )


def _transitions(now: _View, before: _View) -> Iterator[FieldError]:
    for condition in ("Failed", "Complete", "FailureTarget"):
        if condition in before.true and condition not in now.true:
            yield _conditions(f"cannot disable the terminal {condition}=True condition")
    if now.get("failed", 0) < before.get("failed", 0):
        yield field.invalid("status.failed", now.get("failed", 0), "cannot decrease the failed counter")
    if now.get("succeeded", 0) < before.get("succeeded", 0) and not _is_elastic(now.spec):
        yield field.invalid(
            "status.succeeded", now.get("succeeded", 0), "cannot decrease the succeeded counter"
        )
    ended, had_ended = now.get("completionTime"), before.get("completionTime")
    if ended is not None and had_ended is not None and ended != had_ended:
        yield field.invalid("status.completionTime", ended, IMMUTABLE)
    started, had_started = now.get("startTime"), before.get("startTime")
    if (
        had_started is not None
        and started != had_started
        and not now.spec.get("suspend")
        and not ("Suspended" in before.true and _is_false(now.status, "Suspended"))
    ):
        text = "field is immutable for unsuspended job once set"
        yield field.invalid("status.startTime", started, text)
    if before.criteria_met and not now.criteria_met:
        yield _conditions("cannot disable the SuccessCriteriaMet=True condition")
    if before.complete and not before.criteria_met and now.criteria_met:
        yield _conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")


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
        indexes.parse(text, spec["completions"])
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


_WATCHED: Final[dict[str, Callable[[_View], Any]]] = {
    "finished": lambda s: s.finished,
    "complete": lambda s: s.complete,
    "failed": lambda s: s.failed,
    "target": lambda s: s.failure_target,
    "criteria": lambda s: s.criteria_met,
    "completedIndexes": lambda s: s.get("completedIndexes", ""),
    "failedIndexes": lambda s: s.get("failedIndexes"),
    "active": lambda s: s.get("active", 0),
    "startTime": lambda s: s.get("startTime"),
    "completionTime": lambda s: s.get("completionTime"),
    "uncounted": lambda s: s.get("uncountedTerminatedPods"),
    "ready": lambda s: s.get("ready"),
    "terminating": lambda s: s.get("terminating"),
}
"""What a rule can be about, and where to see whether it changed."""

_RULES: Final[tuple[tuple[tuple[str, ...], Callable[[_View], FieldError | None]], ...]] = (
    (("complete", "failed"), _complete_and_failed),
    (("complete", "target"), _complete_and_target),
    (("complete", "completionTime"), _completion_time_early),
    (("complete", "completionTime"), _completion_time_missing),
    (("startTime", "completionTime"), _ends_before_start),
    (("failed", "failedIndexes"), _failed_without_target),
    (("complete", "criteria"), _complete_without_criteria),
    (("finished", "active"), _finished_with_active),
    (("finished", "startTime"), _finished_without_start),
    (("finished", "uncounted"), _finished_with_uncounted),
    (("completedIndexes",), _completed_indexes_bad),
    (("failedIndexes",), _failed_indexes_bad),
    (("completedIndexes",), _completed_indexes_of_nonindexed),
    (("failedIndexes",), _failed_indexes_without_limit),
    (("failedIndexes", "completedIndexes"), _lists_overlap),
    (("finished", "terminating"), _finished_with_terminating),
    (("ready", "active"), _more_ready_than_active),
)
"""Each rule with the changes that call for it, in Kubernetes' order."""
