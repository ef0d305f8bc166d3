"""The state and the next steps of a Job: from its status, its pods and the clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from longshore.api import indexes
from longshore.api.facts import job_state, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.records import PROBLEM
from longshore.machinery.sentences import counted, ranges, stamp
from longshore.why import inferred, pod, pod_now
from longshore.why.needs import AGAIN, missing
from longshore.why.story import StoryView, could_not

_MAX_SHOWN_DUE: Final = 3


def now(view: StoryView) -> list[str]:
    if view.obj is None or job_state.end_of(view.obj):
        return []
    status = view.status
    done, of = status.get("succeeded") or 0, view.spec.get("completions")
    said = [f"{done} of {of} succeeded" if of is not None else f"{done} succeeded"]
    said += [
        f"{status[key]} {word}"
        for key, word in (("active", "active"), ("terminating", "terminating"), ("failed", "failed"))
        if status.get(key)
    ]
    return [", ".join(said), *pod_now.waiting(pod_now.waits(view, view.pods))]


def following(view: StoryView) -> list[str]:
    name = view.name
    if view.obj is None:
        return ["nothing: the Job is gone"]
    ended = job_state.end_of(view.obj)
    if ended:
        return _after_the_end(view, ended)
    if manager := _manager(view.obj):
        return [f"{manager} decides: longshore leaves it alone"]
    if view.spec.get("suspend"):
        return [f"nothing until it is resumed: longshore resume job/{name}"]
    waits = pod_now.waits(view, view.pods)
    found = [*_due(view), *_refused(view), *_restarts(view, waits)]
    steps = pod_now.steps(waits)
    if not found and not any(wait.step for wait in waits.values()):
        found = _course(view, waits)
    return [*found, *steps]


def _manager(job: Obj) -> str:
    manager: str = (job.get("spec") or {}).get("managedBy") or ""
    return "" if manager == "kubernetes.io/job-controller" else manager


def _after_the_end(view: StoryView, ended: Obj) -> list[str]:
    name = view.name
    if ended["type"] == "Complete":
        said = f"nothing: the Job is complete. See its logs: longshore logs job/{name}"
    else:
        logs, again = f"longshore logs --failed job/{name}", f"longshore retry job/{name}"
        if any(pod_state.phase_of(each) == "Failed" for each in view.pods):
            said = f"nothing: the Job has ended. See its logs: {logs}; run it again: {again}"
        else:
            said = f"nothing: the Job has ended; no failed pod is left to read logs of. Run it again: {again}"
    ttl = view.spec.get("ttlSecondsAfterFinished")
    if ttl is None:
        return [said]
    assert view.obj is not None
    at = inferred.end_time(view.obj, ended)
    return [said, f"it is deleted at {stamp(at + ttl)} (ttlSecondsAfterFinished is {ttl})"]


def _due(view: StoryView) -> list[str]:
    """The next steps that have a known time, the soonest first."""
    due = [(at, f"{who} tried again at {stamp(at)}") for at, who in _retries(view)]
    deadline, started = view.spec.get("activeDeadlineSeconds"), view.status.get("startTime")
    if deadline is not None and started:
        at = rfc3339.seconds(started) + deadline
        due.append((at, f"it fails at {stamp(at)} unless it is done (activeDeadlineSeconds is {deadline})"))
    found = list(dict.fromkeys(words for _, words in sorted(due)))[:_MAX_SHOWN_DUE]
    return found + [reason.words for reason in view.waits if reason.code == "StartsPaced"]


def _refused(view: StoryView) -> list[str]:
    """The step of a Job that lacks pods because its last plan failed."""
    last = view.own[-1] if view.own else None
    if last is None or last.code != PROBLEM or could_not(last) is None:
        return []
    completions, active = view.spec.get("completions"), view.status.get("active") or 0
    wanted = view.spec.get("parallelism", 1)
    if completions is not None:
        wanted = min(wanted, completions - (view.status.get("succeeded") or 0))
    if active and active >= wanted:
        return []
    if (step := missing(last.words)) is None:
        return [AGAIN]
    pods = counted(wanted - active, "more pod" if active else "pod")
    return [f"{pods} can be created when {step.until}; {AGAIN}", *step.see]


def _restarts(view: StoryView, waits: Mapping[str, pod_now.Wait]) -> list[str]:
    """The next container starts in pods that continue after their containers ended."""
    last = {record.name: record for record in view.pod_records}
    found = [last[name] for name in waits if name in last and last[name].code == "CrashLoopBackOff"]
    lines = [(record.name, line.words) for record in found if (line := pod.restart_step(record)) is not None]
    return [f"pod {name}: {words}" for name, words in lines[:_MAX_SHOWN_DUE]]


def _course(view: StoryView, waits: Mapping[str, pod_now.Wait]) -> list[str]:
    """The next step of a Job if nothing is due at a known time and nothing is missing."""
    if view.status.get("active"):
        left = [each for each in view.pods if pod_state.phase_of(each) in ("Pending", "Running")]
        if left and all(each["metadata"]["name"] in waits for each in left):
            return ["it goes on when its pods can start"]
        return [_when_one_ends(view)]
    return ["the Job controller looks at it"]


def _retries(view: StoryView) -> Iterator[tuple[float, str]]:
    """The times of retries that are still to come, and what is retried then."""
    found: dict[float, set[int]] = {}
    for record in view.own:
        at = rfc3339.seconds(str(record.numbers.get("retryAt") or record.numbers.get("until") or "") or None)
        if at > view.now:
            which = found.setdefault(at, set())
            if "index" in record.numbers:
                which.add(int(record.numbers["index"]))
    for at, which in found.items():
        listed = ranges(indexes.write(indexes.from_sorted(sorted(which))))
        several = f"indexes {listed} are" if len(which) > 1 else f"index {listed} is"
        yield at, several if which else "a failed pod is"


def _when_one_ends(view: StoryView) -> str:
    completions, parallelism = view.spec.get("completions"), view.spec.get("parallelism", 1)
    done, active = view.status.get("succeeded") or 0, view.status.get("active") or 0
    left = (completions - done - active) if completions is not None else 0
    if left > 0 and active >= parallelism:
        one = f"one of the {active}" if active > 1 else "the one that runs"
        return f"the next pod is created when {one} ends; {left} are still to come"
    return "the Job ends when its pods have" if active > 1 else "the Job ends when its pod has"
