"""The story of a CronJob, Kubernetes' or Volcano's: runs started, runs skipped and why, the next one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from longshore.api import cron
from longshore.api.facts import own_names
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.machinery.records import PROBLEM, Record
from longshore.why.deletion import deleted
from longshore.why.story import Line, View, merged, of_event, of_record, problem


def lines(view: View) -> list[Line]:
    found = list(_told(view))
    if not found:
        found = [of_event(event) for event in view.events]
    return merged(found)


def _told(view: View) -> Iterator[Line]:
    """A line for each reason. Every look at a run that waits counts anew what passed since the last run:
    these counts stand below that run, as lines of their own they would seem to add up."""
    passed: list[str] = []
    for record, after in zip_longest(view.own, view.own[1:]):
        if record.code == "Skipped" and after is not None and after.code == "Forbidden":
            passed.append(record.words.replace("skips ", "since the last run it skipped ", 1))
            continue
        if (line := _line(view, record)) is not None:
            line.more = (*line.more, *passed)
            yield line
        passed = []


def _line(view: View, record: Record) -> Line | None:
    if gone := deleted(record, view.kind.title):
        return gone
    match record.code:
        case "HistoryLimit":
            return None  # each Job is told on its own
        case code if code == PROBLEM:
            return of_record(record, f"could not go on: {problem(record.words)}")
        case "Skipped":
            return of_record(record, record.words.replace("skips ", "skipped ", 1))
        case "Forbidden" if "waits" not in record.words:
            return of_record(record, f"the run that is due waits (concurrencyPolicy Forbid): {record.words}")
    return of_record(record)


def now(view: View) -> list[str]:
    if view.obj is None:
        return []
    active = [ref["name"] for ref in view.status.get("active") or ()]
    word = "vcjob" if view.kind.word == "cronvcjob" else "job"
    said = [f"{word}/{name} is running" for name in active]
    if last := view.status.get("lastScheduleTime"):
        said.append(f"the last run was that of {last}")
    return said


def following(view: View) -> list[str]:
    if view.obj is None:
        return [f"nothing: the {view.kind.title} is gone"]
    spec, name = view.spec, view.name
    if "deletionTimestamp" in view.meta:
        return ["nothing: it is being deleted"]
    if spec.get("suspend"):
        return [f"nothing until it is resumed: longshore resume {view.kind.word}/{name}"]
    zone, text = spec.get("timeZone"), spec.get("schedule", "")
    try:
        schedule = cron.parse_in_zone(text, zone)
        due = schedule.next(int(view.now * SECOND), view.zone)
    except (cron.ScheduleError, cron.UnknownZone) as wrong:
        return [f"nothing: its schedule cannot be read ({wrong})"]
    if due is None:
        return [f'nothing: its schedule "{text}" never fires']
    where = f" in {zone}" if zone else ""
    said = [*_waiting(view), f'the run of {rfc3339.from_instant(due)} (schedule "{text}"{where})']
    if jitter := (view.meta.get("annotations") or {}).get(own_names.JITTER):
        said[-1] += f", up to {jitter} later by its jitter"
    if view.kind.word == "cronjob":
        said.append(
            f"run it now: longshore cronjob run {name}; the runs after that: longshore cronjob next {name}"
        )
    return said


def _waiting(view: View) -> list[str]:
    """The run that waits for the one before it, if there is one."""
    last = next((record for record in reversed(view.own) if record.code in ("Forbidden", "Started")), None)
    active = view.status.get("active") or ()
    if last is None or last.code != "Forbidden" or not active:
        return []
    word = "vcjob" if view.kind.word == "cronvcjob" else "job"
    return [f"the run that waits starts when {word}/{active[0]['name']} ends (concurrencyPolicy Forbid)"]
