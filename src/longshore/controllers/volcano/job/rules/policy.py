"""Finds the action for an event, with the reason, in a Job's lifecycle policies. Pure.

Policies of the task come before those of the Job; the first that matches decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from longshore.api.time import durations
from longshore.api.types import Obj
from longshore.controllers.volcano import names
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.waking.job_requests import JobRequest
from longshore.machinery.reasons import Number, Reason

_INTERNAL: Final = (names.OUT_OF_SYNC, names.COMMAND_ISSUED, names.POD_RUNNING, "")


class Match(msgspec.Struct, frozen=True):
    """An action, and its reason."""

    action: str
    why: Reason
    delay: float = 0.0
    """Seconds to wait before the action; 0 acts at once."""


_JUST_LOOK: Final = Match(names.SYNC_JOB, Reason("NothingButALook"))


def match(job: Obj, request: JobRequest) -> Match:
    """Returns the action for `request` in the Job's state."""
    if request.action:
        return Match(request.action, Reason("CommandAsks", {"action": request.action}))
    event = request.event
    if event in _INTERNAL:
        return _JUST_LOOK
    said = {"event": event, "about": request.pod or "the PodGroup"}
    if request.uid and request.uid != job["metadata"]["uid"]:
        return Match(names.SYNC_JOB, Reason("EarlierJob", said))
    version = (job.get("status") or {}).get("version") or 0
    if request.version < version:
        numbers = {**said, "version": request.version, "jobVersion": version}
        return Match(names.SYNC_JOB, Reason("EarlierVersion", numbers))
    task = tasks.find(job, request.task) if request.task else None
    if task is not None:
        found = _first(task.get("policies") or (), request, {**said, "task": request.task})
        if found is not None:
            return found
    found = _first(job["spec"].get("policies") or (), request, said)
    return found or Match(names.SYNC_JOB, Reason("NoPolicy", said))


def _first(policies: Iterable[Obj], request: JobRequest, said: Mapping[str, Number]) -> Match | None:
    for number, policy in enumerate(policies):
        rule = _fits(policy, request)
        if rule:
            action, delay = policy.get("action") or "", timeout(policy)
            numbers: dict[str, Number] = {**said, "policy": number, "rule": rule, "action": action}
            if delay:
                numbers |= {"delaySeconds": delay, "timeout": policy["timeout"]}
            return Match(action, Reason("PolicyMatched", numbers), delay)
    return None


def _fits(policy: Obj, request: JobRequest) -> str:
    """Describes the part of the policy that matches; empty if none does."""
    events = [*(policy.get("events") or ()), policy.get("event") or ""]
    if (
        request.event in events or names.ANY_EVENT in events
    ) and (  # every new pod is pending, so PodPending needs a timeout
        request.event != names.POD_PENDING or policy.get("timeout") is not None
    ):
        return f"event {request.event if request.event in events else names.ANY_EVENT}"
    code = policy.get("exitCode")
    if code is not None and code == request.exit_code:
        return f"exitCode {code}"
    return ""


def timeout(policy: Obj) -> float:
    """Returns the policy's timeout in seconds; 0 without one."""
    text = policy.get("timeout")
    return _seconds(text) if text else 0.0


@lru_cache(maxsize=256)
def _seconds(text: str) -> float:
    return durations.parse(text) / 1e9
