"""How a Job ended, if it has. An interim condition (`SuccessCriteriaMet`, `FailureTarget`) is no end."""

from __future__ import annotations

from typing import Literal, TypeAlias

from longshore.api.facts import job_state
from longshore.api.types import Obj

Outcome: TypeAlias = Literal["Complete", "Failed"]


def outcome(job: Obj) -> Outcome | None:
    """The type of the condition that ended the Job; None while there is none."""
    end = job_state.end_of(job)
    if end is None:
        return None
    return "Complete" if end["type"] == "Complete" else "Failed"
