"""Starts the run that is due if the rules allow it, and reports the rule by which other runs were skipped."""

from __future__ import annotations

from typing import Final

from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, owners
from longshore.api.time import instants, rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.time.rfc3339 import TimeError
from longshore.api.types import Obj
from longshore.controllers.cronjob import accounting, missed, timing
from longshore.controllers.cronjob.draft import CronJobDraft
from longshore.controllers.cronjob.timing import Timing
from longshore.controllers.scheduled import child
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Ask, ScheduledView
from longshore.machinery.queues.try_again import TryAgain

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
"""The annotation that holds the scheduled time of a Job."""
_DOCS = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"


def start(view: ScheduledView, draft: CronJobDraft) -> ScheduledPlan:
    """Returns the plan for the run that is due, or for waiting until the next one."""
    cronjob = draft.cronjob
    if "deletionTimestamp" in cronjob["metadata"]:
        return draft.plan("BeingDeleted", {"kind": "CronJob"})
    schedule = _schedule(draft)
    if schedule is None:
        return draft.plan()
    when = timing.of(view, cronjob, schedule)
    _remarks(draft, when)
    try:
        due, too_many = when.due()
    except cron.NeverFires as problem:
        draft.announce("NeverFires", schedule=cronjob["spec"]["schedule"], problem=str(problem))
        return draft.plan()
    if due is None:
        return _nothing_due(view, draft, when)
    if too_many:
        draft.event("TooManyMissedTimes")
    return _kept(view, draft, when, due) or _start(view, draft, when, due)


def _schedule(draft: CronJobDraft) -> cron.Schedule | cron.Every | None:
    """Returns the schedule; None, with the reason in the draft, if it is suspended or cannot be used."""
    spec = draft.cronjob["spec"]
    zone, text = spec.get("timeZone"), spec["schedule"]
    if zone is not None:
        try:
            cron.load(zone)
        except cron.UnknownZone as problem:
            draft.announce("UnknownTimeZone", zone=zone, problem=str(problem))
            return None
    if spec.get("suspend"):
        draft.because("Suspended")
        return None
    if "TZ" in text:
        draft.event("UnsupportedSchedule", schedule=text, docs=_DOCS)
    try:
        return cron.parse_in_zone(text, zone)
    except cron.ScheduleError as problem:
        draft.announce("BadSchedule", schedule=text, problem=str(problem))
        return None


def _remarks(draft: CronJobDraft, when: Timing) -> None:
    """Reports jitter, a bad jitter annotation and corrected clocks, which only longshore has."""
    if when.bad_jitter:
        draft.announce("BadJitter", problem=when.bad_jitter)
    if when.delay:
        draft.because("Jitter", seconds=when.delay / SECOND)
    if when.corrected:
        draft.announce("ClockCorrected", at=rfc3339.in_zone(when.created, when.shown_in))


def _nothing_due(view: ScheduledView, draft: CronJobDraft, when: Timing) -> ScheduledPlan:
    _skip(view, draft, when, None, "Runs none of them")
    look_again = when.look_again()
    if look_again is None:
        return draft.plan("NothingDue", {"at": ""})
    at = rfc3339.in_zone(when.now + int(look_again * SECOND), when.shown_in)
    return draft.plan("NothingDue", {"at": at}, look_again=look_again)


def _kept(view: ScheduledView, draft: CronJobDraft, when: Timing, due: Instant) -> ScheduledPlan | None:
    """Returns a plan with the reason why the due run does not start; None if it may start."""
    cronjob = draft.cronjob
    shown, name = rfc3339.in_zone(due, when.shown_in), child.name(cronjob, due)
    if when.deadline is not None and due + when.deadline * SECOND < when.now:
        rule = missed.deadline_rule(when.deadline)
        draft.announce("TooLate", at=shown, rule=rule, scheduled=instants.rfc1123(due))
    elif any(ref.get("name") == name for ref in draft.active) or timing.last_schedule(cronjob) == due:
        draft.because("StartedAlready", at=shown)
    elif cronjob["spec"].get("concurrencyPolicy") == "Forbid" and (running := _running(view, draft, name)):
        forbidden = {"at": shown, "job": running}
        draft.event("Forbidden", **forbidden)
        _skip(view, draft, when, due, f"Starts the one of {shown} when job {running} ends (Forbid)")
        draft.because("Forbidden", **forbidden)
    else:
        return None
    return draft.plan(look_again=when.look_again(), due=due)


def _running(view: ScheduledView, draft: CronJobDraft, due: str) -> str:
    """Returns the name of an unfinished run other than `due`, or "". Also finds a run that longshore started
    just before it died, which is on no active list. Jobs made by hand do not count."""
    if draft.active:
        return str(draft.active[0]["name"])
    for job in accounting.unknown(view, draft):
        name = str(job["metadata"]["name"])
        if name != due and _is_of_schedule(draft.cronjob, job):
            return name
    return ""


def _is_of_schedule(cronjob: Obj, job: Obj) -> bool:
    """Whether a Job was made for a time of the schedule: its name follows from its scheduled time."""
    at = scheduled_time(job)
    return at is not None and job["metadata"]["name"] == child.name(cronjob, at)


def scheduled_time(job: Obj) -> Instant | None:
    """Returns the scheduled time in the Job's annotation; None if it is missing or cannot be parsed."""
    at = (job["metadata"].get("annotations") or {}).get(SCHEDULED)
    try:
        return None if at is None else rfc3339.parse(at)
    except TimeError:
        return None


def _start(view: ScheduledView, draft: CronJobDraft, when: Timing, due: Instant) -> ScheduledPlan:
    cronjob = draft.cronjob
    if cronjob["spec"].get("concurrencyPolicy") == "Replace":
        step = _replace(view, draft)
        if step is not None:
            return step
    name = child.name(cronjob, due)
    created = view.answers.get(Ask("create", "Job", name))
    shown = rfc3339.in_zone(due, when.shown_in)
    if created is None:
        job = child.body(cronjob, due, kinds.CRON_JOBS, SCHEDULED)
        return draft.plan("Due", {"at": shown}, create=job, due=due)
    lateness, look_again = None, when.look_again(due)
    if isinstance(created, Exception):
        found = _taken(view, draft, name, created)
        if isinstance(found, ScheduledPlan):
            return found
        created = found
        draft.because("Recorded", at=shown, job=name)
        look_again = 0.0  # the Job may have ended already
    else:
        lateness = (rfc3339.parse(created["metadata"]["creationTimestamp"]) - due) / SECOND
        draft.announce("Started", at=shown, job=name)
    _skip(view, draft, when, due, f"Runs the one of {shown} now")
    draft.active.append(owners.object_ref(created, kinds.JOBS))
    draft.last_schedule = rfc3339.from_instant(due)
    return draft.plan(look_again=look_again, due=due, lateness=lateness)


def _replace(view: ScheduledView, draft: CronJobDraft) -> ScheduledPlan | None:
    """Deletes active Jobs without waiting for their pods. Returns None once all are deleted."""
    for ref in [*draft.active]:
        read = Ask("get", "Job", ref["name"])
        if read not in view.answers:
            return draft.plan("Replaces", {"job": ref["name"]}, read=(read,))
        job = view.answers[read]
        if not isinstance(job, dict):
            assert isinstance(job, Exception)
            draft.event("FailedGet", problem=str(job))
            return draft.unreadable(ref["name"], job)
        delete = Ask("delete", "Job", ref["name"], job["metadata"]["uid"])
        if delete not in view.answers:
            return draft.plan("Replaces", {"job": ref["name"]}, delete=(delete,))
        if not draft.removed(delete, view.answers[delete]):
            problem = NotReplaced(f"{job['metadata']['namespace']}/{ref['name']}")
            return draft.plan("NotReplaced", {"job": ref["name"], "problem": str(problem)}, problem=problem)
        draft.drop(ref.get("uid", ""))
        draft.because("Replaced", job=ref["name"])
    return None


class NotReplaced(TryAgain):
    """A Job that is still running could not be deleted for its successor. It is tried again."""

    def __init__(self, job: str) -> None:
        super().__init__(f"could not replace job {job}")


def _taken(view: ScheduledView, draft: CronJobDraft, name: str, refused: Exception) -> Obj | ScheduledPlan:
    """Returns the existing Job of that name if it is this CronJob's and the status does not record it yet."""
    if isinstance(refused, StatusError) and refused.has_cause("NamespaceTerminating"):
        return draft.plan("NamespaceTerminating", problem=refused)
    if not isinstance(refused, StatusError) or refused.reason != "AlreadyExists":
        draft.announce("NotCreated", job=name, problem=str(refused))
        return draft.plan(problem=refused)
    job = draft.taken(view, name)
    if isinstance(job, ScheduledPlan):
        return job
    if not owners.is_controlled_by(job, draft.cronjob):
        return draft.plan("ForeignJob", {"job": name})
    if draft.is_active(job["metadata"]["uid"]):
        return draft.plan("StartedAlready", {"job": name})
    return job


def _skip(
    view: ScheduledView, draft: CronJobDraft, when: Timing, due: Instant | None, what_runs: str
) -> None:
    """Records the skipped times; after an outage also sends an event."""
    draft.skipped += missed.passed_over(when, due)
    why = [*map(missed.reason, draft.skipped)]
    draft.why += why
    if view.outage is not None:
        created = rfc3339.parse(draft.cronjob["metadata"]["creationTimestamp"])
        if (told := missed.during(view.outage, when, created)) is not None:
            draft.event("CatchUp", outage=told, rules="; ".join((what_runs, *map(str, why))))
