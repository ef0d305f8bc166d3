"""Intents that must survive a restart of the controller: annotations of the Job.

`ACTION` is the action being carried out. It is written before the first pod is changed and removed when all
is done. A controller that finds it carries the action out again, or only what is left of it. Upstream marks
and deletes pods first and records nothing, so that a crash in between causes an unwanted restart.

`LATER` holds delayed actions that cannot be derived again from the objects: the pod is gone, or the PodGroup
was Unknown. `LEAVING` holds pods that are being deleted by others and whose end requires an action: the
status no longer counts them, so nothing else would show that they existed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import msgspec

from longshore.api import types
from longshore.api.facts import own_names
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.types import Obj
from longshore.controllers.volcano.job.waking.delays import Delayed
from longshore.controllers.volcano.job.waking.job_requests import JobRequest

ACTION: Final = own_names.VOLCANO_ACTION
LATER: Final = own_names.VOLCANO_DELAYED_ACTIONS
LEAVING: Final = own_names.VOLCANO_LEAVING_PODS
OWN_ANNOTATIONS: Final = (ACTION, LATER, LEAVING)
T = TypeVar("T")


class Intent(msgspec.Struct, frozen=True):
    """An action, and the state of the Job when it began."""

    action: str
    request: JobRequest
    phase: str
    version: int
    retries: int
    group: str = ""
    """UID of the PodGroup, which a kill of the whole Job deletes last."""

    def undone(self, job: Obj) -> bool:
        """Whether the Job's status is still as before the action, so that its result is not written yet."""
        return (self.phase, self.version, self.retries) == _state(job)

    def answers(self, request: JobRequest) -> bool:
        return replace(request, action="") == replace(self.request, action="")


def intend(job: Obj, action: str, request: JobRequest, group: Obj | None) -> Intent:
    uid = "" if group is None else group["metadata"]["uid"]
    return Intent(action, request, *_state(job), uid)


def _state(job: Obj) -> tuple[str, int, int]:
    status = job.get("status") or {}
    return phase_of(job), status.get("version") or 0, status.get("retryCount") or 0


def read(job: Obj) -> Intent | None:
    """Returns the action that was begun and may not be finished."""
    return _note(job, ACTION, Intent)


def read_later(job: Obj) -> list[Delayed]:
    """Returns the recorded delayed actions."""
    return _note(job, LATER, list[Delayed]) or []


def annotation(intent: Intent | None) -> str | None:
    """Returns the annotation's value; None removes it."""
    if intent is None:
        return None
    made = {name: getattr(intent, name) for name in ("action", "phase", "version", "retries", "group")}
    return types.encode(made | {"request": _plain(intent.request)}).decode()


def later_annotation(delayed: Iterable[Delayed]) -> str | None:
    made = [
        {"request": _plain(one.request), "action": one.action, "due": round(one.due, 3)} for one in delayed
    ]
    return types.encode(made).decode() if made else None


def read_leaving(job: Obj) -> list[JobRequest]:
    """Returns the recorded evictions that were about to happen."""
    return _note(job, LEAVING, list[JobRequest]) or []


def leaving_annotation(requests: Iterable[JobRequest]) -> str | None:
    made = [_plain(request) for request in requests]
    return types.encode(made).decode() if made else None


def patch(job: Obj, values: Mapping[str, str | None]) -> Obj | None:
    """Returns a merge patch that sets these annotations on exactly this version; None if they are set."""
    notes = job["metadata"].get("annotations")
    if not notes and not any(values.values()):
        return None
    notes = notes or {}
    changes = {key: value for key, value in values.items() if notes.get(key) != value}
    if not changes:
        return None
    known = {part: job["metadata"][part] for part in ("uid", "resourceVersion") if part in job["metadata"]}
    return {"metadata": {**known, "annotations": changes}}


_FIELDS: Final = ("event", "uid", "task", "pod", "pod_uid", "partition", "exit_code", "version", "command")


def _plain(request: JobRequest) -> dict[str, Any]:
    return {name: value for name in _FIELDS if (value := getattr(request, name)) or name == "event"}


def _note(job: Obj, key: str, type: type[T]) -> T | None:
    """Returns the annotation `key`, decoded. Ignores invalid values: any editor of the Job can write one."""
    text = (job["metadata"].get("annotations") or {}).get(key)
    try:
        return msgspec.json.decode(text, type=type) if text else None
    except (ValueError, RecursionError):
        return None
