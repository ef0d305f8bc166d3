"""Decides whether the condition that a test waits for is true, or can never become true. Pure.

| condition | is true when |
| --- | --- |
| `Complete`, `Failed`, `Suspended`, `Ready`, … | the object has that condition, with status True |
| `Succeeded`, `Running`, `Completed`, … | the object is in that phase |
| `finished` | it has ended, well or not |
| `exists`, `deleted` | it is there, or gone |
| a function | it returns true for the object |

Case does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from longshore.api.facts import job_state, pod_state
from longshore.api.resources import Resource
from longshore.api.types import Obj

Condition: TypeAlias = str | Callable[[Obj], bool]

_VOLCANO_ENDS: Final = ("Completed", "Failed", "Terminated", "Succeed")
"""Phases in which a Volcano Job has ended; `Succeed` is a JobFlow's, which may also be Failed."""
_NEVER_ENDS: Final = ("CronJob", "Queue", "Namespace", "Node")
_DELETED: Final = ("deleted", "gone")
_EXISTS: Final = ("exists", "created")
_ALWAYS: Final = (_EXISTS[0], _DELETED[0])
_FINISHED: Final = ("finished", "done", "ended")


_KNOWN: Final = {
    "jobs.batch": "Complete Failed FailureTarget SuccessCriteriaMet Suspended",
    "cronjobs.batch": "",
    "pods": (
        "Pending Running Succeeded Failed PodScheduled Initialized ContainersReady Ready"
        " PodReadyToStartContainers DisruptionTarget"
    ),
    "jobs.batch.volcano.sh": (
        "Pending Aborting Aborted Running Restarting Completing Completed Terminating Terminated Failed"
    ),
    "jobflows.flow.volcano.sh": "Pending Running Succeed Failed Terminating",
    "podgroups.scheduling.volcano.sh": "Pending Inqueue Running Completed Unknown Scheduled Unschedulable",
    "queues.scheduling.volcano.sh": "Open Closed Closing Unknown",
}
"""The conditions and phases of kinds that have no others. For other kinds any word may become true."""


class WaitVerdict(NamedTuple):
    """Whether the condition is true, and if it can never be, why."""

    is_true: bool
    never: str = ""


NOT_YET: Final = WaitVerdict(False)
YES: Final = WaitVerdict(True)


def judge(kind: str, condition: Condition, obj: Obj | None, *, was_there: bool) -> WaitVerdict:
    """Judges an object of this kind; `obj` is None if it does not exist, `was_there` says whether it existed
    during the wait."""
    wanted = condition.lower() if isinstance(condition, str) else ""
    if wanted in _DELETED:
        return YES if obj is None else NOT_YET
    if obj is None:
        return WaitVerdict(False, "it was deleted") if was_there else NOT_YET
    if wanted in _EXISTS:
        return YES
    if not isinstance(condition, str):
        return YES if condition(obj) else NOT_YET
    end = end_of(kind, obj)
    if wanted in _FINISHED:
        return YES if end else NOT_YET
    if wanted in _names_of(obj):
        return YES
    if end:
        return WaitVerdict(False, f"it has ended: {end}")
    if kind == "Job" and wanted == "complete" and "failuretarget" in _names_of(obj):
        return WaitVerdict(False, f"it is about to fail: {_condition_words(obj, 'FailureTarget')}")
    return NOT_YET


def check_condition(row: Resource, condition: Condition, obj: Obj | None) -> None:
    """Refuses a word that can never be true for this kind. Accepts any qualified name, as in readiness
    gates."""
    if not isinstance(condition, str):
        if not callable(condition):
            raise ValueError(f"{condition!r} is no condition: give a word, such as finished, or a function")
        return
    known = _KNOWN.get(row.qualified)
    if known is None or "/" in condition:
        return
    words = [*known.split(), *_ALWAYS]
    if row.kind not in _NEVER_ENDS:
        words.append(_FINISHED[0])
    wanted = condition.lower()
    if wanted in {word.lower() for word in words} or wanted in (*_EXISTS, *_DELETED, *_FINISHED):
        return
    if obj is None or wanted not in _names_of(obj):
        raise ValueError(
            f"{condition!r} is never true of a {row.qualified}; known are: {', '.join(words)}, or a function"
        )


def _names_of(obj: Obj) -> set[str]:
    """The names of all conditions and phases that hold for an object, in lower case."""
    status = obj.get("status") or {}
    listed = status.get("conditions")
    names = {
        str(condition["type"]).lower()
        for condition in (listed if isinstance(listed, list) else ())  # a JobFlow's are a map, by its Jobs
        if condition.get("status") == "True" and "type" in condition  # Volcano's conditions have no type
    }
    names.add(phase_of(obj).lower())
    return names


def phase_of(obj: Obj) -> str:
    """`status.phase`, or Volcano's `status.state.phase`; empty without one."""
    status = obj.get("status") or {}
    state = status.get("state")
    if isinstance(state, dict):
        state = state.get("phase")
    found = status.get("phase") or state or ""
    return found if isinstance(found, str) else ""


def end_of(kind: str, obj: Obj) -> str:
    """How an object has ended, in words; empty if it has not ended or its kind never ends."""
    phase = phase_of(obj)
    if kind in _NEVER_ENDS:
        return ""
    if isinstance((obj.get("status") or {}).get("state"), dict):
        return phase if phase in _VOLCANO_ENDS else ""
    if kind == "Job" and (condition := job_state.end_of(obj)) is not None:
        return _condition_words(obj, condition["type"])
    if kind == "Pod" and pod_state.has_ended(obj):
        code = pod_state.main_end(obj).get("exitCode")
        reason = (obj.get("status") or {}).get("reason") or pod_state.main_end(obj).get("reason") or ""
        more = ", ".join(part for part in (reason, f"exit code {code}" if code is not None else "") if part)
        return f"{phase} ({more})" if more else phase
    return ""


def _condition_words(obj: Obj, type: str) -> str:
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["type"] == type:
            words = ": ".join(part for part in (condition.get("reason"), condition.get("message")) if part)
            return f"{type} ({words})" if words else type
    return type
