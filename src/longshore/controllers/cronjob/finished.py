"""How a Job ended, if it has. An interim condition (`SuccessCriteriaMet`, `FailureTarget`) is no end."""

from __future__ import annotations

from typing import Literal

from longshore.api.types import Obj


def outcome(job: Obj) -> Literal["Complete", "Failed"] | None:
    """The first terminal condition that is true; None while there is none."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("status") == "True":
            kind = condition["type"]
            if kind == "Complete" or kind == "Failed":
                found: Literal["Complete", "Failed"] = kind
                return found
    return None


def succeeded(job: Obj) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Complete" and c.get("status") == "True" for c in conditions)
