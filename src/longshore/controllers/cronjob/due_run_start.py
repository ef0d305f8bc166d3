"""Starts the run that is due, if the rules allow it, and says which rule kept others from being run."""

from __future__ import annotations

from typing import Final

from longshore.api import cron, field
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names, owners
from longshore.api.time import instants, rfc3339
from longshore.api.time.errors import TimeError
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.controllers.cronjob import accounting, missed, timing
from longshore.controllers.cronjob.draft import Draft
from longshore.controllers.cronjob.timing import Timing
from longshore.controllers.scheduled import child
from longshore.controllers.scheduled.plan import Plan
from longshore.controllers.scheduled.view import Ask, View
from longshore.machinery.queues.try_again import TryAgain

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
"""The annotation of a Job that says which run it is."""
_DOCS = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
_FORBIDDEN = "Not starting job because prior execution is running and concurrency policy is Forbid"


def start(view: View, draft: Draft) -> Plan:
    """The last part of the decision."""
    cronjob = draft.cronjob
    if "deletionTimestamp" in cronjob["metadata"]:
        return draft.plan("BeingDeleted", "the CronJob is being deleted: starts nothing")
    schedule = _schedule(draft)
    if schedule is None:
        return draft.plan()
    when = timing.of(view, cronjob, schedule)
    _remarks(draft, when)
    try:
        due, too_many = when.due()
    except cron.NeverFires as problem:
        text = cronjob["spec"]["schedule"]
        draft.warning("InvalidSchedule", f"invalid schedule: {text} : {problem}")
        return draft.plan("NeverFires", f"schedule {text} never fires")
    if due is None:
        return _nothing_due(view, draft, when)
    if too_many:
        draft.warning(
            "TooManyMissedTimes",
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
        )
    return _kept(view, draft, when, due) or _start(view, draft, when, due)


def _schedule(draft: Draft) -> cron.Schedule | cron.Every | None:
    """The schedule to go by; None, with the reason in the draft, when there is none now."""
    spec = draft.cronjob["spec"]
    zone, text = spec.get("timeZone"), spec["schedule"]
    if zone is not None:
        try:
            cron.load(zone)
        except cron.UnknownZone as problem:
            draft.warning("UnknownTimeZone", f"invalid timeZone: {field.quoted(zone)}: {problem}")
            draft.because("UnknownTimeZone", f"there is no time zone {zone}: starts nothing")
            return None
    if spec.get("suspend"):
        draft.because("Suspended", "suspended: starts nothing")
        return None
    if "TZ" in text:
        draft.warning(
            "UnsupportedSchedule",
            f"CRON_TZ or TZ used in schedule {field.quoted(text)} is not officially supported, "
            f"see {_DOCS} for more details",
        )
    try:
        return cron.parse_in_zone(text, zone)
    except cron.ScheduleError as problem:
        draft.warning("UnparseableSchedule", f"unparseable schedule: {field.quoted(text)} : {problem}")
        draft.because("BadSchedule", f"schedule {text} cannot be read: starts nothing")
        return None


def _remarks(draft: Draft, when: Timing) -> None:
    """longshore's addition to Kubernetes' rules, if any."""
    if when.bad_jitter:
        draft.warning("InvalidJitter", when.bad_jitter)
        draft.because("BadJitter", f"no jitter: {when.bad_jitter}")
    if when.delay:
        seconds = when.delay / SECOND
        words = f"starts {seconds:.3f} s after each scheduled time ({own_names.JITTER})"
        draft.because("Jitter", words, seconds=seconds)
    if when.corrected:
        right = rfc3339.in_zone(when.created, when.shown_in)
        said = (
            "The times of this CronJob were written by a clock that was hours ahead; "
            f"scheduled times count from {right}, when it was right again"
        )
        draft.normal("ClockCorrected", said)
        draft.because("ClockCorrected", said)


def _nothing_due(view: View, draft: Draft, when: Timing) -> Plan:
    _skip(view, draft, when, None, "Runs none of them")
    look_again = when.look_again()
    if look_again is None:
        return draft.plan("NothingDue", "nothing is due, ever again")
    at = rfc3339.in_zone(when.now + int(look_again * SECOND), when.shown_in)
    return draft.plan("NothingDue", f"nothing is due before {at}", look_again=look_again)


def _kept(view: View, draft: Draft, when: Timing, due: Instant) -> Plan | None:
    """Why the due run does not start; None when it does."""
    cronjob = draft.cronjob
    shown, name = rfc3339.in_zone(due, when.shown_in), child.name(cronjob, due)
    code = because = ""
    if when.deadline is not None and due + when.deadline * SECOND < when.now:
        draft.warning("MissSchedule", f"Missed scheduled time to start a job: {instants.rfc1123(due)}")
        code, because = "TooLate", f"the run of {shown} is {missed.deadline_rule(when.deadline)}"
    elif any(ref.get("name") == name for ref in draft.active) or timing.last_schedule(cronjob) == due:
        code, because = "StartedAlready", f"the run of {shown} was started already"
    elif cronjob["spec"].get("concurrencyPolicy") == "Forbid" and (running := _running(view, draft, name)):
        draft.normal("JobAlreadyActive", _FORBIDDEN)
        code = "Forbidden"
        because = f"the run of {shown} waits: concurrencyPolicy is Forbid and job {running} is still running"
        _skip(view, draft, when, due, f"Starts the one of {shown} when job {running} ends (Forbid)")
    if not code:
        return None
    return draft.plan(code, because, look_again=when.look_again(), due=due)


def _running(view: View, draft: Draft, due: str) -> str:
    """A run of the schedule other than `due` that has not ended, or "". One that longshore started just
    before it died may be on no active list. A Job that somebody made by hand is no run of the schedule."""
    if draft.active:
        return str(draft.active[0]["name"])
    for job in accounting.unknown(view, draft):
        name = str(job["metadata"]["name"])
        if name != due and _is_of_schedule(draft.cronjob, job):
            return name
    return ""


def _is_of_schedule(cronjob: Obj, job: Obj) -> bool:
    """Whether a Job was made for a time of the schedule: its name follows from the time that it bears."""
    at = scheduled_time(job)
    return at is not None and job["metadata"]["name"] == child.name(cronjob, at)


def scheduled_time(job: Obj) -> Instant | None:
    """The scheduled time that a Job bears; None where it bears none that can be read."""
    at = (job["metadata"].get("annotations") or {}).get(SCHEDULED)
    try:
        return None if at is None else rfc3339.parse(at)
    except TimeError:
        return None


def _start(view: View, draft: Draft, when: Timing, due: Instant) -> Plan:
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
        return draft.plan("Due", f"the run of {shown} is due", create=job, due=due)
    lateness, look_again = None, when.look_again(due)
    if isinstance(created, Exception):
        found = _taken(view, draft, name, created)
        if isinstance(found, Plan):
            return found
        created = found
        words = f"the run of {shown} had its job {name} already: it goes on the active list"
        draft.because("Recorded", words)
        look_again = 0.0  # it may have ended already
    else:
        lateness = (rfc3339.parse(created["metadata"]["creationTimestamp"]) - due) / SECOND
        draft.normal("SuccessfulCreate", f"Created job {name}")
        draft.because("Started", f"started the run of {shown}: job {name}")
    _skip(view, draft, when, due, f"Runs the one of {shown} now")
    draft.active.append(owners.object_ref(created, kinds.JOBS))
    draft.last_schedule = rfc3339.from_instant(due)
    return draft.plan(look_again=look_again, due=due, lateness=lateness)


def _replace(view: View, draft: Draft) -> Plan | None:
    """Deletes what is still running, without waiting for its pods. None once that is done."""
    for ref in [*draft.active]:
        read = Ask("get", "Job", ref["name"])
        if read not in view.answers:
            return draft.plan("Replaces", f"job {ref['name']} is to be replaced", read=(read,))
        job = view.answers[read]
        if not isinstance(job, dict):
            assert isinstance(job, Exception)
            draft.warning("FailedGet", f"Get job: {job}")
            return draft.plan("Unreadable", f"job {ref['name']} cannot be read: {job}", problem=job)
        delete = Ask("delete", "Job", ref["name"], job["metadata"]["uid"])
        if delete not in view.answers:
            words = f"replaces job {ref['name']}, which is still running"
            return draft.plan("Replaces", words, delete=(delete,))
        if not draft.removed(delete, view.answers[delete]):
            problem = NotReplaced(f"{job['metadata']['namespace']}/{ref['name']}")
            return draft.plan("NotReplaced", str(problem), problem=problem)
        draft.drop(ref.get("uid", ""))
        draft.because("Replaced", f"replaced job {ref['name']}, which was still running")
    return None


class NotReplaced(TryAgain):
    """A Job that is still running could not be deleted for its successor. It is tried again."""

    def __init__(self, job: str) -> None:
        super().__init__(f"could not replace job {job}")


def _taken(view: View, draft: Draft, name: str, refused: Exception) -> Obj | Plan:
    """The Job that has the name already, if it is this CronJob's and was only not written down."""
    if isinstance(refused, StatusError) and refused.has_cause("NamespaceTerminating"):
        words = "the namespace is being deleted: starts nothing"
        return draft.plan("NamespaceTerminating", words, problem=refused)
    if not isinstance(refused, StatusError) or refused.reason != "AlreadyExists":
        draft.warning("FailedCreate", f"Error creating job: {refused}")
        return draft.plan("NotCreated", f"job {name} could not be created: {refused}", problem=refused)
    job = draft.taken(view, name)
    if isinstance(job, Plan):
        return job
    if not owners.is_controlled_by(job, draft.cronjob):
        return draft.plan("ForeignJob", f"job {name} exists and belongs to somebody else: starts nothing")
    if draft.is_active(job["metadata"]["uid"]):
        return draft.plan("StartedAlready", f"job {name} is active already")
    return job


def _skip(view: View, draft: Draft, when: Timing, due: Instant | None, what_runs: str) -> None:
    """Puts what is passed over on record; after an outage also as an event that people see."""
    draft.skipped += missed.passed_over(when, due)
    words = [missed.in_words(skipped) for skipped in draft.skipped]
    for skipped, said in zip(draft.skipped, words, strict=True):
        draft.because("Skipped", said, times=skipped.number)
    if view.outage is not None:
        created = rfc3339.parse(draft.cronjob["metadata"]["creationTimestamp"])
        if (told := missed.during(view.outage, when, created)) is not None:
            draft.normal("CatchUp", f"{told} {'; '.join((what_runs, *words))}.")
