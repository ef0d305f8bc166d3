"""What `longshore why` always says.

Not judged where the whole process died, with the reasons that were not stored yet, nor where somebody set the
clock: lines are told by the time of day.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from longshore.api.facts import pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from simulation.record import CRONJOBS, GANGS, JOBS, PODS, Record
from simulation.scenario import Scenario

_SECONDS_OF = {"* * * * *": 60, "*/2 * * * *": 120, "@every 30s": 30, "@every 20s": 20}
"""The schedules of every hour that are drawn, and how far apart their times are."""
_TOLD_CONDITIONS = ("Complete", "Failed", "Suspended")
_REASONS = frozenset(("Forbidden", "Skipped", "Suspended", "TooLate"))
"""Codes of lines that say why a time was not run."""


def a_story_speaks_of_the_last_change(record: Record) -> Iterator[str]:
    """The story of a Job tells of its end or suspension, that of others of the time they last changed;
    that of a gang of its phase."""
    if not is_judged(record.scenario):
        return
    for uid, job in record.last(JOBS).items():
        lines, name = _lines(record, uid), job["metadata"]["name"]
        for condition in (job.get("status") or {}).get("conditions") or ():
            is_told = condition["status"] == "True" and condition["type"] in _TOLD_CONDITIONS
            if is_told and not any(line.get("code") == condition["type"] for line in lines):
                yield f"{name}: {condition['type']}, its story ends with {lines[-1:]}"
    phases = _last_phases(record)
    for storage in (CRONJOBS, GANGS, PODS):
        for uid, obj in record.last(storage).items():
            lines = _lines(record, uid)
            changed = phases.get(uid, "") if storage == GANGS else _last_change(storage, obj)
            if changed and not any((line.get("until") or line["at"]) >= changed for line in lines):
                name = obj["metadata"]["name"]
                yield f"{name}: changed at {changed}, its story ends with {lines[-1:]}"


def a_cron_job_skips_only_with_a_reason(record: Record) -> Iterator[str]:
    """Whenever times pass between two runs of a CronJob, its story says why."""
    if not is_judged(record.scenario):
        return
    began: dict[str, float] = {}
    for change in record.of(CRONJOBS):
        uid, spec = change.obj["metadata"]["uid"], change.obj["spec"]
        ran = (change.obj.get("status") or {}).get("lastScheduleTime")
        before = began.setdefault(uid, rfc3339.seconds(change.obj["metadata"]["creationTimestamp"]))
        if ran is None or rfc3339.seconds(ran) == before:
            continue
        began[uid] = rfc3339.seconds(ran)
        # From one time to the next it is at most one step, whether steps count from the last or the hour.
        step = _SECONDS_OF.get(spec["schedule"], inf)  # of some hours only: the model of CronJobs knows those
        if began[uid] - before <= step or uid not in record.stories:
            continue
        codes = {line.get("code") for line in _lines(record, uid)}
        if not codes & _REASONS:
            yield f"{change.key.name}: nothing ran between {before:.0f} and {began[uid]:.0f}, and {codes}"


def is_judged(scenario: Scenario) -> bool:
    """Whether stories of a run of this scenario are complete, and so worth asking for."""
    dies = any(crash.who == "all" for crash in scenario.crashes)
    return not dies and not any(deed.verb == "jump" for deed in scenario.deeds)


def _lines(record: Record, uid: str) -> list[Obj]:
    lines: list[Obj] = record.stories.get(uid, {}).get("story") or []
    return lines


def _last_change(storage: str, obj: Obj) -> str:
    """The time of day of the last thing that happened to an object; empty if nothing has."""
    status = obj.get("status") or {}
    if storage == CRONJOBS:
        return status.get("lastScheduleTime") or ""
    return (pod_state.main_end(obj).get("finishedAt") or "") if pod_state.has_ended(obj) else ""


def _last_phases(record: Record) -> dict[str, str]:
    """When gangs came to the phase they are in, by uid: their own times move whenever a pod ends."""
    found: dict[str, str] = {}
    for change in record.of(GANGS):
        new, old = (
            ((each or {}).get("status") or {}).get("state") or {} for each in (change.obj, change.old)
        )
        if new.get("phase") != old.get("phase"):
            found[change.obj["metadata"]["uid"]] = new["lastTransitionTime"]
    return found
