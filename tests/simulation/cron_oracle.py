"""A model of CronJobs: says from the schedule, the Jobs that ran and the deeds of people what must have run.

It shares no code with longshore. It knows the schedules that are drawn: every so many seconds, counted from
the creation, or every so many minutes of some hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from math import inf
from zoneinfo import ZoneInfo

from longshore.api.types import Obj
from simulation.job_oracle import owner_of, seconds
from simulation.record import CRONJOBS, JOBS, Change, Record

_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_DEFAULT_ZONE = "Europe/Berlin"
_LATE_SECONDS = 20.0
"""Delays of watches add up."""
_LATE_WITHOUT_LAG_SECONDS = 5.0


def a_cron_job_runs_what_its_schedule_says(record: Record) -> Iterator[str]:
    """Each Job of a CronJob is the run of a time of its schedule that was the last one then. A time whose
    turn comes is run, and the status tells of the last."""
    models: dict[str, _Model] = {}
    for change in record.changes:
        if change.key.storage == CRONJOBS:
            models.setdefault(change.obj["metadata"]["uid"], _Model(change.obj)).saw_cron_job(change)
        elif change.key.storage == JOBS and owner_of(change.obj) in models:
            models[owner_of(change.obj)].saw_job(change)
    has_jumped = any(deed.verb == "jump" for deed in record.scenario.deeds)
    for model in models.values():
        for said in () if has_jumped or model.drifts else model.differences(record):
            yield f"{model.cron_job['metadata']['name']}: {said}"


@dataclass
class _Run:
    name: str
    scheduled: float
    """Seconds since 1970."""
    made_at: float
    """Seconds since the beginning, as all that follow."""
    ended_at: float = inf
    gone_at: float = inf
    completed: str = ""


@dataclass
class _Model:
    cron_job: Obj
    """Its last state."""
    made_at: float = -1.0
    gone_at: float = inf
    suspended: list[tuple[float, float]] = field(default_factory=list)
    """When it was suspended, from and until."""
    runs: dict[str, _Run] = field(default_factory=dict)

    @property
    def drifts(self) -> bool:
        """Whether its times depend on when somebody looks: delays are then counted from the deadline."""
        spec = self.cron_job["spec"]
        return spec["schedule"].startswith("@every") and "startingDeadlineSeconds" in spec

    def saw_cron_job(self, change: Change) -> None:
        self.cron_job = change.obj
        if self.made_at < 0:
            self.made_at = change.at
        if change.type == "DELETED" or "deletionTimestamp" in change.obj["metadata"]:
            self.gone_at = min(self.gone_at, change.at)
        is_suspended = bool(change.obj["spec"].get("suspend"))
        if is_suspended != (bool(self.suspended) and self.suspended[-1][1] == inf):
            if is_suspended:
                self.suspended.append((change.at, inf))
            else:
                self.suspended[-1] = (self.suspended[-1][0], change.at)

    def saw_job(self, change: Change) -> None:
        meta, status = change.obj["metadata"], change.obj.get("status") or {}
        scheduled = seconds(meta["annotations"][_SCHEDULED])
        run = self.runs.setdefault(meta["uid"], _Run(meta["name"], scheduled, change.at))
        if change.type == "DELETED":
            run.gone_at = change.at
        elif any(c["type"] in ("Complete", "Failed") for c in status.get("conditions") or ()):
            run.ended_at = min(run.ended_at, change.at)
            run.completed = status.get("completionTime", "")

    def differences(self, record: Record) -> Iterator[str]:
        scenario = record.scenario
        is_smooth = scenario.is_prompt
        begun = seconds(self.cron_job["metadata"]["creationTimestamp"])
        offset = begun - self.made_at // 1  # of seconds since 1970 to those since the beginning
        end = min(self.gone_at, record.changes[-1].at)
        times = [*self._times(begun, end + offset)]
        for run in self.runs.values():
            if run.scheduled not in times:
                yield f"{run.name} ran for {run.scheduled - offset:.0f}, which is no time of its schedule"
            yield from self._too_late(run, times, offset)
        if is_smooth:
            patience = _LATE_SECONDS if scenario.trouble.lag else _LATE_WITHOUT_LAG_SECONDS
            for time, after in pairwise([*times, inf]):
                yield from self._missed(time, time - offset, min(after - offset, end), patience)
        if record.ended_quietly and self.gone_at == inf:
            yield from self._status(times, is_smooth)

    def _times(self, begun: float, end: float) -> Iterator[float]:
        spec = self.cron_job["spec"]
        schedule: str = spec["schedule"]
        if schedule.startswith("@every "):
            step = int(schedule.removeprefix("@every ").removesuffix("s"))
            yield from _steps(begun + step, end, step)
            return
        minutes, hours = schedule.split()[:2]
        every, zone = int(minutes.removeprefix("*").removeprefix("/") or 1), spec.get("timeZone")
        for time in _steps(begun // 60 * 60 + 60, end, 60):
            wall = datetime.fromtimestamp(time, UTC).astimezone(ZoneInfo(zone or _DEFAULT_ZONE))
            if wall.minute % every == 0 and hours in ("*", str(wall.hour)):
                yield time

    def _too_late(self, run: _Run, times: list[float], offset: float) -> Iterator[str]:
        """What is wrong with the moment of a run."""
        late = run.made_at + offset - run.scheduled
        if late < -0.01 or late > self.cron_job["spec"].get("startingDeadlineSeconds", inf) + _LATE_SECONDS:
            yield f"{run.name} was started {late:.1f} s after its time"
        if any(run.scheduled < time < run.made_at + offset - _LATE_SECONDS for time in times):
            yield f"{run.name} was started {late:.1f} s after its time, and a later one was due"
        if any(begin + _LATE_SECONDS < run.made_at < end for begin, end in self.suspended):
            yield f"{run.name} was started at {run.made_at:.1f}, suspended were {self.suspended}"

    def _missed(self, time: float, begin: float, end: float, patience: float) -> Iterator[str]:
        """Says so if a time was not run, though nothing stood in the way for a while."""
        if any(run.scheduled == time for run in self.runs.values()):
            return
        spec = self.cron_job["spec"]
        end = min(end, begin + spec.get("startingDeadlineSeconds", inf))
        blocked = [*self.suspended]
        for run in self.runs.values():
            if int(run.scheduled // 60) == int(time // 60):  # a name has the minute of its time only
                blocked.append((run.made_at, run.gone_at))
            elif spec["concurrencyPolicy"] == "Forbid":
                blocked.append((run.made_at, min(run.ended_at, run.gone_at)))
        free = begin
        for start, stop in sorted(blocked):
            if min(start, end) - free > patience:
                break
            free = max(free, stop)
        else:
            start = end
        if min(start, end) - free > patience:
            yield f"nothing ran for {begin:.0f}, and nothing hindered it from {free:.1f} on"

    def _status(self, times: list[float], is_smooth: bool) -> Iterator[str]:
        status = self.cron_job.get("status") or {}
        runs = self.runs.values()
        last = seconds(status["lastScheduleTime"]) if "lastScheduleTime" in status else 0.0
        newest = max((run.scheduled for run in runs), default=0.0)
        if last and last not in times:
            yield f"lastScheduleTime is {status['lastScheduleTime']}, no time of its schedule"
        if is_smooth and last < newest:
            yield f"lastScheduleTime is {status.get('lastScheduleTime')}, and there are {[*runs]}"
        success, completed = status.get("lastSuccessfulTime", ""), {run.completed for run in runs}
        if success and success not in completed:
            yield f"lastSuccessfulTime is {success}, completed was {sorted(completed)}"
        left = max((run.completed for run in runs if run.gone_at == inf), default="")
        if success < left:
            yield f"lastSuccessfulTime is {success}, and a Job is there that completed at {left}"
        there = {uid for uid, run in self.runs.items() if run.ended_at == run.gone_at == inf}
        if {ref["uid"] for ref in status.get("active") or ()} != there and is_smooth:
            yield f"active are {status.get('active')}, and there are {[*runs]}"


def _steps(begin: float, end: float, step: int) -> Iterator[float]:
    while begin <= end:
        yield begin
        begin += step
