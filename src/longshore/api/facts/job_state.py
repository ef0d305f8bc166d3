"""Facts about one batch/v1 Job: whether and how it has ended."""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj

ENDS: Final = ("Complete", "Failed")
"""Types of the conditions that end a Job once they are True."""


def end_of(job: Obj) -> Obj | None:
    """The condition that ended the Job; None while it has not ended."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ENDS and condition["status"] == "True":
            end: Obj = condition
            return end
    return None


def has_ended(job: Obj) -> bool:
    return end_of(job) is not None
