"""How and when a Volcano Job ended."""

from __future__ import annotations

from longshore.api.facts import volcano_job_state
from longshore.api.types import Obj


def ended(job: Obj) -> str:
    """Returns the phase in which the Job ended; empty while it runs."""
    return volcano_job_state.phase_of(job) if volcano_job_state.has_ended(job) else ""


def end_time(job: Obj) -> str:
    found: str = job["status"]["state"].get("lastTransitionTime") or ""
    return found
