"""The status at the end of a sync or a kill: counters, and the phase from a rule (phases.py). Pure."""

from __future__ import annotations

import msgspec

from longshore.api.types import Obj
from longshore.controllers.volcano.job import status
from longshore.controllers.volcano.job.pods.kill_selection import Selection
from longshore.controllers.volcano.job.rules import phases
from longshore.controllers.volcano.job.rules.phases import Change
from longshore.controllers.volcano.job.rules.table import Then
from longshore.controllers.volcano.job.status import Count


class Conclusion(msgspec.Struct, frozen=True):
    """The status to write, and the change of phase, if any."""

    status: Obj
    change: Change | None


def synced(job: Obj, count: Count | None, then: Then, now: float) -> Conclusion | None:
    """Returns the status after a sync with these counted pods; `count` is None if the pods were not counted.
    Returns None if the status does not change."""
    before: Obj = job.get("status") or {}
    made = before
    if count is not None:
        made = {
            key: value for key, value in status.counted(before, count).items() if key != "runningDuration"
        }
        wanted = job["spec"].get("minAvailable") or 0
        made.pop("minAvailable", None)
        if wanted:
            made["minAvailable"] = wanted
    change = phases.change(then, job, made)
    if change is not None:
        made = status.changed(made, change)
    return None if made == before else Conclusion(status.stamped(made, now), change)


def killed(job: Obj, selection: Selection, then: Then, now: float) -> Conclusion:
    """Returns the status after a kill. It counts only terminating pods, not those that were kept."""
    before: Obj = job.get("status") or {}
    count = Count()
    count.going(selection.going + len(selection.delete))
    if not count.counters["terminating"]:
        count.counters.clear()
    made = status.counted(before, count)
    if selection.whole:
        made["version"] = (before.get("version") or 0) + 1
    change = phases.change(then, job, made)
    if change is not None:
        made = status.stamped(status.changed(made, change), now)
    made["runningDuration"] = status.running_duration(job, made)
    return Conclusion(made, change)
