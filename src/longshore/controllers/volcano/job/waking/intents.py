"""Intents that must survive the controller: written on the Job itself, in annotations.

`ACTION` is the action being carried out. It is written before the first pod is touched and removed when all
is done; a controller that finds it carries the action out again, or only what is left of it. Upstream marks
and deletes pods first and remembers nothing, so that a crash in between is a restart nobody asked for.

`LATER` holds delayed actions whose cause leaves no trace: a pod that is gone, a PodGroup that was unknown.
All others can be read off the pods. `LEAVING` are pods that somebody else is deleting and whose
end will call for an action: the status counts them no more, so that nothing else would tell that they were.
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
from longshore.controllers.volcano.job.waking.job_requests import Request

ACTION: Final = own_names.VOLCANO_ACTION
LATER: Final = own_names.VOLCANO_DELAYED_ACTIONS
LEAVING: Final = own_names.VOLCANO_LEAVING_PODS
OWN_ANNOTATIONS: Final = (ACTION, LATER, LEAVING)
T = TypeVar("T")


class Intent(msgspec.Struct, frozen=True):
    """An action and the state the Job was in when it began."""

    action: str
    request: Request
    phase: str
    version: int
    retries: int
    group: str = ""
    """UID of the PodGroup that a whole-job kill deletes in the end."""

    def undone(self, job: Obj) -> bool:
        """Whether the Job's status is still as before: then nothing of it has been written down."""
        return (self.phase, self.version, self.retries) == _state(job)

    def answers(self, request: Request) -> bool:
        return replace(request, action="") == replace(self.request, action="")


def intend(job: Obj, action: str, request: Request, group: Obj | None) -> Intent:
    uid = "" if group is None else group["metadata"]["uid"]
    return Intent(action, request, *_state(job), uid)


def _state(job: Obj) -> tuple[str, int, int]:
    status = job.get("status") or {}
    return phase_of(job), status.get("version") or 0, status.get("retryCount") or 0


def read(job: Obj) -> Intent | None:
    """The action that was begun, if it is not known to be done."""
    return _note(job, ACTION, Intent)


def read_later(job: Obj) -> list[Delayed]:
    """The delayed actions on record."""
    return _note(job, LATER, list[Delayed]) or []


def annotation(intent: Intent | None) -> str | None:
    """None removes it."""
    if intent is None:
        return None
    made = {name: getattr(intent, name) for name in ("action", "phase", "version", "retries", "group")}
    return types.encode(made | {"request": _plain(intent.request)}).decode()


def later_annotation(delayed: Iterable[Delayed]) -> str | None:
    made = [
        {"request": _plain(one.request), "action": one.action, "due": round(one.due, 3)} for one in delayed
    ]
    return types.encode(made).decode() if made else None


def read_leaving(job: Obj) -> list[Request]:
    """The evictions that were about to happen."""
    return _note(job, LEAVING, list[Request]) or []


def leaving_annotation(requests: Iterable[Request]) -> str | None:
    made = [_plain(request) for request in requests]
    return types.encode(made).decode() if made else None


def patch(job: Obj, values: Mapping[str, str | None]) -> Obj | None:
    """A merge patch that brings the annotations of exactly this version to these values; None when they have
    them."""
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


def _plain(request: Request) -> dict[str, Any]:
    return {name: value for name in _FIELDS if (value := getattr(request, name)) or name == "event"}


def _note(job: Obj, key: str, type: type[T]) -> T | None:
    """The note under `key`. One that cannot be read is ignored: anybody who may edit the Job can write it."""
    text = (job["metadata"].get("annotations") or {}).get(key)
    try:
        return msgspec.json.decode(text, type=type) if text else None
    except (ValueError, RecursionError):
        return None
