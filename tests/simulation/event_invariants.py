"""What people are always told by events.

Not judged where requests fail or somebody dies: an event is not worth a second try, and is gone then.
"""

from __future__ import annotations

from collections.abc import Iterator

from longshore.api.types import Obj
from simulation.record import EVENTS, JOBS, Record


def every_end_of_a_job_is_told(record: Record) -> Iterator[str]:
    """At rest no event is owed: the end of each Job was told by one, with the reason of the end."""
    if not record.scenario.is_smooth or not record.ended_quietly:
        return
    told: dict[str, set[str]] = {}
    for change in record.of(EVENTS):
        told.setdefault(change.obj["involvedObject"].get("uid", ""), set()).add(change.obj["reason"])
    for change in record.of(JOBS):
        for reason in _reasons(change.obj) - _reasons(change.old or {}):
            if reason not in told.get(change.obj["metadata"]["uid"], ()):
                yield f"{change.key.name}: has ended, and no event says {reason}"


def _reasons(job: Obj) -> set[str]:
    """The reasons of a Job's events that tell its end: the word for success, the condition's reason else."""
    found = set()
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["status"] == "True" and each["type"] in ("Complete", "Failed"):
            found.add("Completed" if each["type"] == "Complete" else each["reason"])
    return found
