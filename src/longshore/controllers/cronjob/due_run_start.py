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
from longshore.controllers.cronjob import accounting, timing
from longshore.controllers.cronjob.draft import CronJobDraft
from longshore.controllers.cronjob.timing import Timing
from longshore.controllers.scheduled import child
from longshore.controllers.scheduled.plan import ScheduledPlan, Skipped
from longshore.controllers.scheduled.view import Ask, ScheduledView
from longshore.machinery.queues.try_again import TryAgain
from longshore.machinery.reasons import Number, Reason
from longshore.machinery.time.wallclock import Outage

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
"""The annotation that holds the scheduled time of a Job."""
_MAX_COUNTED: Final = 100
"""Missed times beyond this number are not counted. Kubernetes warns above the same number."""
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
    _skip(view, draft, when, None)
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
        scheduled = instants.rfc1123(due)
        draft.announce("TooLate", at=shown, deadline=when.deadline, scheduled=scheduled)
    elif any(ref.get("name") == name for ref in draft.active) or timing.last_schedule(cronjob) == due:
        draft.because("StartedAlready", at=shown)
    elif cronjob["spec"].get("concurrencyPolicy") == "Forbid" and (running := _running(view, draft, name)):
        forbidden = {"at": shown, "job": running}
        draft.event("Forbidden", **forbidden)
        _skip(view, draft, when, due, **forbidden)
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
    _skip(view, draft, when, due, at=shown)
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
    view: ScheduledView, draft: CronJobDraft, when: Timing, due: Instant | None, **runs: Number
) -> None:
    """Records the skipped times; after an outage also sends an event. `runs` says what runs instead: the run
    of `at`, now or when `job` has ended; nothing if empty."""
    draft.skipped += _passed_over(when, due)
    why = [skipped.why for skipped in draft.skipped]
    draft.why += why
    if view.outage is not None:
        created = rfc3339.parse(draft.cronjob["metadata"]["creationTimestamp"])
        if missed := _missed_in(view.outage, when, created):
            draft.event("CatchUp", **missed, **runs, rules="".join(f"; {reason}" for reason in why))


def _passed_over(timing: Timing, due: Instant | None) -> list[Skipped]:
    """Returns the missed times that will never run, if `due` runs now, or nothing does (None)."""
    first = timing.next(timing.base)
    end = timing.now if due is None else due - 1
    if first is None or first > end:
        return []
    cut = timing.base
    found = []
    if timing.deadline is not None:
        cut = max(cut, timing.now - timing.deadline * SECOND)
        found.append(_skipped(timing, timing.base, min(cut, end), deadline=timing.deadline))
    found.append(_skipped(timing, cut, end, found=int(due is not None)))
    return [skipped for skipped in found if skipped is not None]


def _skipped(timing: Timing, after: Instant, until: Instant, **rule: Number) -> Skipped | None:
    count, at = 0, timing.next(after)
    while at is not None and at <= until and count <= _MAX_COUNTED:
        count += 1
        at = timing.next(at)
    if not count:
        return None
    number, exact = min(count, _MAX_COUNTED), count <= _MAX_COUNTED
    return Skipped(
        after, until, number, exact, Reason("Skipped", {"times": number, "exact": int(exact), **rule})
    )


def _missed_in(outage: Outage, timing: Timing, created: Instant) -> dict[str, Number]:
    """Counts the runs missed in an outage; empty if there are none."""
    after = max(timing.base, created, outage.since or 0)
    missed = _skipped(timing, after, min(outage.until, timing.now))
    if missed is None:
        return {}
    first, zone = timing.next(after), timing.shown_in
    assert first is not None
    numbers = {**missed.why.numbers, "first": rfc3339.in_zone(first, zone)}
    if outage.since is not None:
        numbers["since"] = rfc3339.in_zone(outage.since, zone)
    return {**numbers, "until": rfc3339.in_zone(outage.until, zone)}
