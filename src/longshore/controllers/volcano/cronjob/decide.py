"""Decides for one CronJob: a pure function from a view to a plan.

First it accounts for the existing Jobs (accounting.py), then it starts the run that is due, if the rules
allow it. The arithmetic of schedules is that of Kubernetes' CronJobs (`api.cron`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, owners
from longshore.api.time import instants, rfc3339
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.controllers.scheduled import child
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Ask, ScheduledView
from longshore.controllers.volcano.cronjob import accounting
from longshore.controllers.volcano.cronjob.draft import VolcanoCronJobDraft, ended

SCHEDULED: Final = "volcano.sh/cronjob-scheduled-timestamp"
"""The annotation that holds the scheduled time of a Job."""


class Timing(NamedTuple):
    """The scheduled time that is due, and when to sync next."""

    due: Instant | None
    too_many: bool
    look_again: float | None
    never: str = ""
    """Why the schedule never fires."""


def decide(view: ScheduledView) -> ScheduledPlan:
    """Returns the next step for the CronJob. Call it again with the answers until the plan is final."""
    cronjob = view.cronjob
    draft = VolcanoCronJobDraft(view)
    if "deletionTimestamp" in cronjob["metadata"]:
        return draft.plan("BeingDeleted", {"kind": "CronJob"})
    schedule = _parsed(cronjob)
    when = timing(view, cronjob, schedule) if not isinstance(schedule, Exception) else None
    found = accounting.account(view, draft, when.due if when is not None else None)
    return found or _start(view, draft, schedule, when)


def _parsed(cronjob: Obj) -> cron.Schedule | cron.Every | Exception:
    spec = cronjob["spec"]
    zone, text = spec.get("timeZone"), spec["schedule"]
    try:
        if zone is not None:
            cron.load(zone)
        return cron.parse_in_zone(text, None if "TZ" in text else zone)  # TZ in the schedule wins
    except (cron.UnknownZone, cron.ScheduleError) as problem:
        return problem


def timing(view: ScheduledView, cronjob: Obj, schedule: cron.Schedule | cron.Every) -> Timing:
    """Computes which scheduled time is due now, and when the next one is."""
    created = rfc3339.parse(cronjob["metadata"]["creationTimestamp"])
    text = (cronjob.get("status") or {}).get("lastScheduleTime")
    last = rfc3339.parse(text) if text else None
    deadline = cronjob["spec"].get("startingDeadlineSeconds")
    wait = cron.requeue_after(schedule, view.zone, view.now, created=created, last=last)
    look_again = None if wait is None else wait / instants.SECOND
    try:
        found = cron.most_recent(schedule, view.zone, view.now, created=created, last=last, deadline=deadline)
    except cron.NeverFires:
        return Timing(None, False, None, "time difference between two schedules is less than 1 second")
    return Timing(*found.due, look_again)


def _start(
    view: ScheduledView, draft: VolcanoCronJobDraft, schedule: object, when: Timing | None
) -> ScheduledPlan:
    spec = draft.cronjob["spec"]
    if spec.get("suspend"):
        return draft.plan("Suspended")
    if when is None:
        return _unreadable(draft, schedule)
    if "TZ" in spec["schedule"]:
        draft.event("UnsupportedSchedule", schedule=spec["schedule"])
    if when.never:
        draft.event("InvalidSchedule", problem=when.never)
        return draft.plan("NeverFires")
    if when.due is None:
        return draft.plan("NothingDue", look_again=when.look_again)
    if when.too_many:
        draft.event("TooManyMissedTimes")
    name = child.name(draft.cronjob, when.due)
    started = draft.last_schedule == rfc3339.from_instant(when.due)
    if started or any(ref.get("name") == name for ref in draft.active):
        return draft.plan("StartedAlready", {"job": name}, look_again=when.look_again)
    if spec.get("concurrencyPolicy") == "Forbid" and draft.active:
        draft.event("ForbidConcurrent")
        return draft.plan("Forbidden", look_again=when.look_again)
    if spec.get("concurrencyPolicy") == "Replace" and (step := _replace(view, draft)):
        return step
    return _create(view, draft, when, when.due)


def _unreadable(draft: VolcanoCronJobDraft, problem: object) -> ScheduledPlan:
    spec = draft.cronjob["spec"]
    if isinstance(problem, cron.UnknownZone):
        draft.event("InvalidTimeZone", zone=spec["timeZone"], problem=str(problem))
    else:
        draft.event("UnParseableCronJobSchedule", schedule=spec["schedule"])
    return draft.plan("BadSchedule", {"problem": str(problem)})


def _replace(view: ScheduledView, draft: VolcanoCronJobDraft) -> ScheduledPlan | None:
    """Deletes active Jobs. Returns None once all are deleted."""
    if not draft.active:
        return None
    draft.event("ReplaceConcurrent")
    for ref in [*draft.active]:
        ask = Ask("delete", "Job", ref["name"], ref.get("uid", ""))
        if ask not in view.answers:
            return draft.plan("Replaces", {"job": ref["name"]}, delete=(ask,))
        answer = view.answers[ask]
        if not draft.removed(ask, answer):
            assert isinstance(answer, Exception)
            return draft.plan("NotReplaced", {"job": ref["name"]}, problem=answer)
    return None


def _create(view: ScheduledView, draft: VolcanoCronJobDraft, when: Timing, due: Instant) -> ScheduledPlan:
    cronjob, name = draft.cronjob, child.name(draft.cronjob, due)
    ask = Ask("create", "Job", name)
    if ask not in view.answers:
        job = child.body(cronjob, due, kinds.VOLCANO_CRON_JOBS, SCHEDULED)
        return draft.plan("Due", {"at": rfc3339.from_instant(due)}, create=job)
    made = view.answers[ask]
    if isinstance(made, Exception):
        found = _taken(view, draft, when, name, made)
        if isinstance(found, ScheduledPlan):
            return found
        made = found
    else:
        where = f"{cronjob['metadata']['namespace']}/{cronjob['metadata']['name']}"
        draft.event("VolcanoJobCreated", job=name, cronjob=where)
    assert made is not None
    if not ended(made):
        draft.active.append(owners.object_ref(made, kinds.VOLCANO_JOBS))
    draft.last_schedule = rfc3339.from_instant(due)
    return draft.plan("Started", {"job": name}, look_again=when.look_again)


def _taken(
    view: ScheduledView, draft: VolcanoCronJobDraft, when: Timing, name: str, refused: Exception
) -> Obj | ScheduledPlan:
    """Returns the existing Job of that name if it is this CronJob's and the status does not record it yet."""
    namespace = draft.cronjob["metadata"]["namespace"]
    if isinstance(refused, StatusError) and refused.has_cause("NamespaceTerminating"):
        draft.event("NamespaceTerminating", namespace=namespace)
        return draft.plan("NamespaceTerminating", problem=refused)
    if not isinstance(refused, StatusError) or refused.reason != "AlreadyExists":
        draft.event("VolcanoJobNotCreated", problem=str(refused))
        return draft.plan("NotCreated", {"job": name, "problem": str(refused)}, problem=refused)
    job = draft.taken(view, name)
    if isinstance(job, ScheduledPlan):
        return job
    if not owners.is_controlled_by(job, draft.cronjob):
        owner = (owners.controller_of(job) or {}).get("name", "none")
        draft.event("ForeignJob", job=name, owner=owner)
        return draft.plan("ForeignJob", {"job": name}, look_again=when.look_again)
    return job
