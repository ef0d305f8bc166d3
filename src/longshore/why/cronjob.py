"""The story of a CronJob, Kubernetes' or Volcano's: runs started, runs skipped and why, the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from longshore.api import cron
from longshore.api.facts import job_state, own_names, volcano_job_state
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Place
from longshore.machinery.records import PROBLEM, Record
from longshore.why import inferred, job, volcano
from longshore.why.deletion import deleted
from longshore.why.needs import AGAIN, missing
from longshore.why.story import Line, StoryView, could_not, merged, of_event, of_record

_RUNNING: Final = "running"


def lines(view: StoryView) -> list[Line]:
    found = list(_reason_lines(view)) or [of_event(event) for event in view.events]
    return merged([*found, *_other_failures(view, found)])


def _other_failures(view: StoryView, told: Sequence[Line]) -> Iterator[Line]:
    """Lines for failed runs that no reason mentions: runs started by hand, and Volcano's."""
    word = _word(view)
    for run in view.jobs:
        name = run["metadata"]["name"]
        said = f"job {name} has ended: Failed"
        if name in view.failed_runs and all(line.words != said for line in told):
            at = _end_of(run) + 0.999  # the status has whole seconds, so the end of that second
            yield Line(at, said, last_failure(view, word, name))


def _end_of(run: Obj) -> float:
    """The time at which a failed run ended."""
    if volcano_job_state.phase_of(run):
        return rfc3339.seconds(run["status"]["state"].get("lastTransitionTime"))
    ended = job_state.end_of(run)
    return inferred.end_time(run, ended) if ended is not None else 0.0


def last_failure(view: StoryView, word: str, name: str) -> tuple[str, ...]:
    """How a failed run ended: the line of its last failed pod, with exit code and last words."""
    run = view.failed_runs.get(name)
    if run is None:
        return ()
    told = job.lines(run) if word == "job" else volcano.lines(run)
    return tuple([line.words for line in told if line.code in ("PodFailed", "ContainerFailed")][-1:])


def _word(view: StoryView) -> str:
    return "vcjob" if view.kind.word == "cronvcjob" else "job"


def _reason_lines(view: StoryView) -> Iterator[Line]:
    """A line for each reason. Each sync of a waiting run counts all times skipped since the last run, so the
    counts stand below that run's line: on separate lines they would seem to add up."""
    passed: list[str] = []
    for record, after in zip_longest(view.own, view.own[1:]):
        if record.code == "Skipped" and after is not None and after.code == "Forbidden":
            passed.append(f"since the last run it {record.then()}")
            continue
        if (line := _line(view, record)) is not None:
            line.more = (*line.more, *passed)
            yield line
        passed = []


def _line(view: StoryView, record: Record) -> Line | None:
    if gone := deleted(record, view.kind.title):
        return gone
    match record.code:
        case code if catalogue.place(code) is Place.STEP:
            return None  # each Job has a story of its own
        case code if code == PROBLEM:
            told = any(record.words in each.words for each in view.own if each.code != PROBLEM)
            return None if told else could_not(record)
        case "JobEnded" if record.numbers.get("outcome") == "Failed":
            return of_record(record, more=last_failure(view, _word(view), str(record.numbers["job"])))
    return of_record(record)


def now(view: StoryView) -> list[str]:
    if view.obj is None:
        return []
    jobs = {run["metadata"]["name"]: run for run in view.jobs}
    said = [
        f"{_word(view)}/{ref['name']} is {_state(jobs.get(ref['name']))}"
        for ref in view.status.get("active") or ()
    ]
    if last := view.status.get("lastScheduleTime"):
        said.append(f"the last run was that of {last}")
    return said


def _state(run: Obj | None) -> str:
    if run is None:
        return _RUNNING
    if phase := volcano_job_state.phase_of(run):
        return phase
    if run["spec"].get("suspend"):
        return "suspended"
    status = run.get("status") or {}
    if status.get("ready") or status.get("succeeded") or status.get("failed"):
        return _RUNNING
    return "active, and none of its pods is ready"


def following(view: StoryView) -> list[str]:
    if view.obj is None:
        return [f"nothing: the {view.kind.title} is gone"]
    spec, name = view.spec, view.name
    failed = [
        f"about the last run that failed: longshore why {_word(view)}/{run}"
        for run in list(view.failed_runs)[:1]
    ]
    if spec.get("suspend"):
        return [f"nothing until it is resumed: longshore resume {view.kind.word}/{name}", *failed]
    zone, text = spec.get("timeZone"), spec.get("schedule", "")
    try:
        schedule = cron.parse_in_zone(text, zone)
        due = schedule.next(int(view.now * SECOND), view.zone)
    except (cron.ScheduleError, cron.UnknownZone) as wrong:
        return [f"nothing: its schedule cannot be read ({wrong})", *failed]
    if due is None:
        return [f'nothing: its schedule "{text}" never fires', *failed]
    where = f" in {zone}" if zone else ""
    due_words = f'the run of {rfc3339.from_instant(due)} (schedule "{text}"{where})'
    said = [*_waiting(view), *_refused(view), due_words]
    if jitter := (view.meta.get("annotations") or {}).get(own_names.JITTER):
        said[-1] += f", up to {jitter} later by its jitter"
    if view.kind.word == "cronjob":
        said.append(f"run it now: longshore cron run {name}; the runs after that: longshore cron next {name}")
    return [*said, *_stuck(view), *failed]


def _refused(view: StoryView) -> list[str]:
    """The step for a due run that could not be started, if that is the last reason."""
    last = view.own[-1] if view.own else None
    if last is None or last.code != PROBLEM or could_not(last) is None:
        return []
    if (step := missing(last.words)) is None:
        return [f"the run that is due: {AGAIN}"]
    return [f"the run that is due starts when {step.until}; {AGAIN}", *step.see]


def _stuck(view: StoryView) -> list[str]:
    """A command about the active run, if it does not run."""
    jobs = {run["metadata"]["name"]: run for run in view.jobs}
    names = [ref["name"] for ref in view.status.get("active") or ()]
    stuck = [name for name in names if name in jobs and _state(jobs[name]).lower() != _RUNNING]
    return [f"about the run that is active: longshore why {_word(view)}/{name}" for name in stuck[:1]]


def _waiting(view: StoryView) -> list[str]:
    """A line about the run that waits for the one before it, if there is one."""
    last = next((record for record in reversed(view.own) if record.code in ("Forbidden", "Started")), None)
    active = view.status.get("active") or ()
    if last is None or last.code != "Forbidden" or not active:
        return []
    name = f"{_word(view)}/{active[0]['name']}"
    return [f"the run that waits starts when {name} ends (concurrencyPolicy Forbid)"]
