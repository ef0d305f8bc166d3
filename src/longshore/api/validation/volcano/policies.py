"""Lifecycle policies: which events and actions a person may name, and what excludes what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api import field
from longshore.api.types import Obj

EVENTS: Final = (
    "*", "JobUpdated", "PodEvicted", "PodFailed", "PodPending", "TaskCompleted", "TaskFailed", "Unknown",
)  # fmt: skip
ACTIONS: Final = (
    "AbortJob", "CompleteJob", "RestartJob", "RestartPartition", "RestartPod", "RestartTask", "ResumeJob",
    "TerminateJob",
)  # fmt: skip
_ANY: Final = "*"
_VALID: Final = f" valid events are [{' '.join(EVENTS)}], valid actions are [{' '.join(ACTIONS)}];"


def validate(policies: Iterable[Obj], path: str) -> str:
    """The problems of the policies of a Job (`spec.policies`) or task (`spec.tasks.policies`)."""
    events: set[str] = set()
    problems: list[str] = []
    codes: set[int] = set()
    for policy in policies:
        if problem := _one(policy, path, events, codes):
            problems.append(problem)
            break
    if _ANY in events and len(events) > 1:
        problems.append("if there's * here, no other policy should be here")
    if not problems:
        return ""
    head = "1 error occurred" if len(problems) == 1 else f"{len(problems)} errors occurred"
    return f"{head}:\n\t" + "\n\t".join(f"* {text}" for text in problems) + "\n\n" + _VALID


def _one(policy: Obj, path: str, events: set[str], codes: set[int]) -> str:
    """The problems of one policy; its events and exit code join those seen so far."""
    named = events_of(policy)
    code = policy.get("exitCode")
    if named and code is not None:
        return "must not specify event and exitCode simultaneously"
    if not named and code is None:
        return "either event and exitCode should be specified"
    for event in named:
        if event not in EVENTS:
            return str(field.invalid(path, event, "invalid policy event"))
        action = policy.get("action", "")
        if action not in ACTIONS:
            return str(field.invalid(path, action, "invalid policy action"))
        if event in events:
            return f"duplicate event {event}  across different policy"
        events.add(event)
    if code is None:
        return ""
    if code == 0:
        return "0 is not a valid error code"
    if code in codes:
        return f"duplicate exitCode {code}"
    codes.add(code)
    return ""


def events_of(policy: Obj) -> list[str]:
    """The events a policy names in either way, each once."""
    named = list(policy.get("events") or ())
    if policy.get("event"):
        named.append(policy["event"])
    return list(dict.fromkeys(named))
