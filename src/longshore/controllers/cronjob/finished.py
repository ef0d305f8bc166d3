"""Outcome of a finished Job. Interim conditions (`SuccessCriteriaMet`, `FailureTarget`) do not end a Job."""

from __future__ import annotations

from typing import Literal, TypeAlias

from longshore.api.facts import job_state
from longshore.api.types import Obj

Outcome: TypeAlias = Literal["Complete", "Failed"]


def outcome(job: Obj) -> Outcome | None:
    """Returns the type of the condition that ended the Job; None while it runs."""
    end = job_state.end_of(job)
    if end is None:
        return None
    return "Complete" if end["type"] == "Complete" else "Failed"
