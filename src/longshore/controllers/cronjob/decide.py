"""Decides for one CronJob: a pure function from a view to a plan.

Three steps, in Kubernetes' order: delete finished Jobs beyond the history limits, update the status from the
existing Jobs (accounting.py), start the run that is due (due_run_start.py). The plan gives its reasons in
words.
"""

from __future__ import annotations

from typing import Final

from longshore.api import cron
from longshore.api.facts import owners
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.controllers.cronjob import accounting, due_run_start, timing
from longshore.controllers.cronjob.draft import CronJobDraft, Outcome
from longshore.controllers.scheduled import child
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Ask, ScheduledView

_LIMITS: Final[dict[Outcome, str]] = {
    "Complete": "successfulJobsHistoryLimit",
    "Failed": "failedJobsHistoryLimit",
}


def decide(view: ScheduledView) -> ScheduledPlan:
    """Returns the next step for the CronJob. Call it again with the answers until the plan is final."""
    draft = CronJobDraft(_current(view), view.jobs)
    return _prune(view, draft) or accounting.account(view, draft) or due_run_start.start(view, draft)


def _current(view: ScheduledView) -> Obj:
    """Returns the cached CronJob, or the one just read if that lists Jobs that the cached one does not."""
    live = view.answers.get(Ask("get", "CronJob", view.cronjob["metadata"]["name"]))
    if not isinstance(live, dict):
        return view.cronjob
    listed = {ref.get("uid") for ref in (live.get("status") or {}).get("active") or ()}
    unknown = accounting.unknown(view, CronJobDraft(view.cronjob, view.jobs))
    newer = any(job["metadata"]["uid"] in listed for job in unknown)
    return live if newer else view.cronjob


def _prune(view: ScheduledView, draft: CronJobDraft) -> ScheduledPlan | None:
    """Deletes finished Jobs. Returns None when done, even after failures, so that a run can still start."""
    doomed = _excess(view, draft)
    if not doomed:
        return None
    unrecorded = _unrecorded(view, doomed)
    if unrecorded is None:
        return draft.prune(view, doomed)
    job, due = unrecorded
    return draft.prune(view, [each for each in doomed if each is not job]) or _record(draft, job, due)


def _unrecorded(view: ScheduledView, jobs: list[Obj]) -> tuple[Obj, Instant] | None:
    """Returns the finished Job of the run that is due now, and its time, if longshore died before it recorded
    the start.

    Only the Job's name keeps that run from being started again, so the Job stays until the status records the
    run. With `@every 20s`, runs of one minute share a name; the scheduled time tells them apart."""
    cronjob = view.cronjob
    try:
        spec = cronjob["spec"]
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
        due, _ = timing.of(view, cronjob, schedule).due()
    except (cron.ScheduleError, cron.NeverFires):
        return None
    if due is None or due == timing.last_schedule(cronjob):
        return None
    name = child.name(cronjob, due)
    for job in jobs:
        if job["metadata"]["name"] == name and owners.is_controlled_by(job, cronjob):
            at = due_run_start.scheduled_time(job)
            return (job, due) if at is None or at // SECOND == due // SECOND else None
    return None


def _record(draft: CronJobDraft, job: Obj, due: Instant) -> ScheduledPlan | None:
    """Records the start of the run if the CronJob is suspended; otherwise starting the run records it. The
    next sync deletes the Job."""
    if not draft.cronjob["spec"].get("suspend"):
        return None
    draft.last_schedule = rfc3339.from_instant(due)
    return draft.plan("Recorded", {"job": job["metadata"]["name"]}, look_again=0.0)


def _excess(view: ScheduledView, draft: CronJobDraft) -> list[Obj]:
    """Returns the Jobs to delete, oldest first per limit. Jobs made by hand count; deleted ones do not."""
    spec = view.cronjob["spec"]
    doomed: list[Obj] = []
    for outcome, key in _LIMITS.items():
        limit = spec.get(key)
        if limit is None:
            continue
        ended = [job for job, how in draft.jobs if how == outcome]
        if view.going:
            ended = [job for job in ended if job["metadata"]["uid"] not in view.going]
        if len(ended) > limit:
            doomed += sorted(ended, key=_age)[: len(ended) - limit]
    return doomed


def _age(job: Obj) -> tuple[bool, str, str]:
    """Sort key: by start time, Jobs that never started last. RFC 3339 texts compare like times."""
    start = (job.get("status") or {}).get("startTime")
    return start is None, start or "", job["metadata"]["name"]
