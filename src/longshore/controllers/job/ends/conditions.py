"""Conditions of a Job: found, made, and put in place. Lists given are never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from longshore.api.types import Obj
from longshore.machinery.reasons import Reason


class Outcome(NamedTuple):
    """A condition that is to become True: `FailureTarget` or `SuccessCriteriaMet` first, so that the verdict
    is on record before its evidence may vanish; then `Failed` or `Complete`."""

    type: str
    reason: str
    message: str

    @property
    def success(self) -> bool:
        return self.type in ("SuccessCriteriaMet", "Complete")

    @property
    def why(self) -> Reason:
        return Reason(self.reason, f"{self.type} {self.reason}: {self.message}")

    @property
    def final(self) -> Outcome:
        """The terminal condition that follows."""
        return self._replace(type="Complete" if self.success else "Failed")


def true(conditions: Sequence[Obj], type: str) -> Obj | None:
    """The condition of this type if it is True."""
    for condition in conditions:
        if condition["type"] == type and condition["status"] == "True":
            return condition
    return None


def verdict(conditions: Sequence[Obj]) -> Obj | None:
    """The interim condition that is on record; nothing revises it."""
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
    """The list with this condition in it; None when it is there already.

    False is never added where there was nothing: that would say nothing.
    """
    for at, old in enumerate(conditions):
        if old["type"] != type:
            continue
        if (old["status"], old.get("reason") or "", old.get("message") or "") == (status, reason, message):
            return None
        return [*conditions[:at], made(type, status, reason, message, now), *conditions[at + 1 :]]
    if status == "False":
        return None
    return [*conditions, made(type, status, reason, message, now)]
