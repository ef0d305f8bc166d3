"""Conditions in a Pod's status: set one, keeping the time of its last change of mind."""

from __future__ import annotations

from longshore.api.types import Obj


def with_condition(
    conditions: list[Obj], kind: str, status: str, *, now: str, reason: str = "", message: str = ""
) -> list[Obj]:
    """A new list with this condition in the place of the old one of its type, or at the end."""
    entry: Obj = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": now}
    if reason:
        entry["reason"] = reason
    if message:
        entry["message"] = message
    result = []
    placed = False
    for old in conditions:
        if old.get("type") == kind and not placed:
            placed = True
            if old.get("status") == status:
                entry["lastTransitionTime"] = old.get("lastTransitionTime")
            result.append(entry)
        else:
            result.append(old)
    return result if placed else [*result, entry]
