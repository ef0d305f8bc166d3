"""Facts about one Volcano Job, or JobFlow, which has its phase in the same field."""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj

ENDED: Final = frozenset(("Completed", "Failed", "Terminated"))
"""Phases in which a Volcano Job is over. An aborted Job is not: it may be resumed."""
TASK_INDEX: Final = "volcano.sh/task-index"
"""The annotation of a pod with its index in its task."""


def phase_of(job: Obj) -> str:
    """The phase of a Job or JobFlow; empty before its controller has seen it."""
    phase: str = ((job.get("status") or {}).get("state") or {}).get("phase") or ""
    return phase


def has_ended(job: Obj) -> bool:
    return phase_of(job) in ENDED
