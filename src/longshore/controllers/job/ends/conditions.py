"""Finds, makes and replaces conditions of a Job. Never changes a list that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from longshore.api.types import Obj
from longshore.machinery.reasons import Reason


class Outcome(NamedTuple):
    """A condition to set to True. `FailureTarget` or `SuccessCriteriaMet` comes first, so that the verdict is
    recorded before the pods that caused it may vanish; then `Failed` or `Complete`."""

    type: str
    reason: str
    message: str

    @property
    def success(self) -> bool:
        return self.type in ("SuccessCriteriaMet", "Complete")

    @property
    def why(self) -> Reason:
        return Reason(self.reason, {"type": self.type, "message": self.message})

    @property
    def final(self) -> Outcome:
        """The terminal condition that follows this one."""
        return self._replace(type="Complete" if self.success else "Failed")


def true(conditions: Sequence[Obj], type: str) -> Obj | None:
    """Returns the condition of this type if it is True."""
    for condition in conditions:
        if condition["type"] == type and condition["status"] == "True":
            return condition
    return None


def verdict(conditions: Sequence[Obj]) -> Obj | None:
    """Returns the recorded interim condition, which is never revised."""
    if not conditions:
        return None
    return true(conditions, "SuccessCriteriaMet") or true(conditions, "FailureTarget")


def made(type: str, status: str, reason: str, message: str, now: str) -> Obj:
    return {
        "type": type,
        "status": status,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def ensured(
    conditions: Sequence[Obj], type: str, status: str, reason: str, message: str, now: str
) -> list[Obj] | None:
    """Returns the list with this condition in it; None if it is there already.

    A condition that is False is not added if the list has none of its type."""
    for at, old in enumerate(conditions):
        if old["type"] != type:
            continue
        if (old["status"], old.get("reason") or "", old.get("message") or "") == (status, reason, message):
            return None
        return [*conditions[:at], made(type, status, reason, message, now), *conditions[at + 1 :]]
    if status == "False":
        return None
    return [*conditions, made(type, status, reason, message, now)]
