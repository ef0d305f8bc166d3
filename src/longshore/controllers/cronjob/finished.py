"""How a Job ended, if it has. An interim condition (`SuccessCriteriaMet`, `FailureTarget`) is no end."""

from __future__ import annotations

from typing import Literal, TypeAlias

from longshore.api.types import Obj

Outcome: TypeAlias = Literal["Complete", "Failed"]


def outcome(job: Obj) -> Outcome | None:
    """The first terminal condition that is true; None while there is none."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("status") == "True":
            kind = condition["type"]
            if kind == "Complete" or kind == "Failed":
                found: Outcome = kind
                return found
    return None
