"""The stories of Volcano's kinds: Jobs and their gangs, PodGroups, queues, JobFlows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from longshore.api.time import rfc3339
from longshore.machinery.records import PROBLEM, Record
from longshore.why import pod_now
from longshore.why.deletion import deleted
from longshore.why.story import Line, View, counted, merged, of_event, of_record, once, problem, quoted

_UNTOLD: Final = frozenset(("Action", "GoesOn", "TtlRuns"))
"""Codes of steps on the way to something that is told."""
_ENDED: Final = ("Completed", "Failed", "Terminated", "Aborted")
_WAITING_CODES: Final = (
    "ClusterOverused",
    "GangInvalid",
    "GangWaits",
    "NoNodeFits",
    "QueueClosed",
    "QueueOverused",
    "QueueUsedUp",
    "Unschedulable",
    "WaitedTooLong",
)


def lines(view: View) -> list[Line]:
    found = [line for record in view.own if (line := _line(view, record)) is not None]
    if not found:
        return merged(of_event(event) for event in view.events)
    if view.kind.word != "vcjob":
        return once(found)
    return merged([*_failures(view), *found, *_untold(view, found)])


def _untold(view: View, told: Iterable[Line]) -> Iterator[Line]:
    """The phase of the Job if nothing told is as new: whoever wrote it died before the reason was kept."""
    for condition in (view.status.get("conditions") or ())[-1:]:
        since = rfc3339.seconds(condition["lastTransitionTime"])
        if all(line.at < since for line in told):
            yield Line(since, f"{condition['status']}: the reason was not kept", code=condition["status"])


def _failures(view: View) -> Iterator[Line]:
    """The containers of the Job's pods that ended badly by themselves, as the node noted it. Pods of an
    earlier Job of this name had the same names: only those since the Job's own first reason are told."""
    since = view.own[0].at
    for record in view.pod_records:
        numbers = record.numbers
        if record.code == "ContainerFailed" and record.at >= since and not numbers.get("stopped"):
            said = f"exit code {numbers.get('exitCode')} in container {numbers.get('container')}"
            message = quoted(str(numbers.get("message", "")))
            yield of_record(record, f"pod {record.name} failed: {said}" + (f", {message}" if message else ""))


def _line(view: View, record: Record) -> Line | None:
    if record.code in _UNTOLD:
        return None
    if gone := deleted(record, view.kind.title):
        return gone
    if record.code == PROBLEM:
        return of_record(record, f"could not go on: {problem(record.words)}")
    if record.code.startswith("Phase") and record.words.startswith("phase "):
        return of_record(record, f"the gang is {record.words.removeprefix('phase ')}")
    if record.code == "PodsDeleted" and not record.numbers.get("pods"):
        return None
    return of_record(record, _words(view, record))


def _words(view: View, record: Record) -> str:
    words = record.words
    if record.code == "PodsCreated":
        many, of = record.numbers.get("pods"), record.numbers.get("replicas")
        return f"created {many} of {of} pods of {words.partition(' lacks ')[0]}"
    if words.startswith("is ") and words.endswith(" now"):
        return f"the {_NOUNS.get(view.kind.word, 'Job')} {words.removesuffix(' now')}"
    return _past(words)


_NOUNS: Final = {"queue": "queue", "jobflow": "flow", "podgroup": "gang"}


_PAST: Final = (
    ("creates ", "created "),
    ("deletes ", "deleted "),
    ("starts ", "started "),
    ("brings ", "brought "),
    ("writes ", "wrote "),
    ("has no parent: root becomes it", "root became its parent, as it named none"),
    ("it is asked to ", "it was asked to "),
    ("a command asks for ", "a command asked for "),
)


def _past(words: str) -> str:
    for now_, then in _PAST:
        if words.startswith(now_):
            return then + words.removeprefix(now_)
    return words


# ---- Jobs


def job_now(view: View) -> list[str]:
    if view.obj is None:
        return []
    phase = (view.status.get("state") or {}).get("phase") or "new"
    counts = [
        f"{view.status[key]} {key}"
        for key in ("pending", "running", "succeeded", "failed", "terminating", "unknown")
        if view.status.get(key)
    ]
    said = [f"the Job is {phase}" + (f": {', '.join(counts)}" if counts else "")]
    if phase in ("Pending", "Restarting", "new"):
        said += [f"its gang: {words}" for words in _gang_waits(view)]
    return said + pod_now.waiting(view.pods) if phase == "Running" else said


def _gang_waits(view: View) -> list[str]:
    live = [reason.words for reason in view.waits if reason.code in _WAITING_CODES]
    if live:
        return live
    kept = [record.words for record in view.group_records if record.code in _WAITING_CODES]
    if kept:
        return kept[-1:]
    found = ((view.group or {}).get("status") or {}).get("conditions") or ()
    return [c["message"] for c in found if c.get("type") == "Unschedulable" and c.get("message")]


def job_following(view: View) -> list[str]:
    name = view.name
    if view.obj is None:
        return ["nothing: the Volcano Job is gone"]
    phase = (view.status.get("state") or {}).get("phase") or ""
    if phase in _ENDED:
        if phase == "Aborted":
            return [f"nothing until it is resumed: longshore job resume -N {name}"]
        said = f"nothing: the Job has ended. See its pods: longshore pod list -j {name}"
        ttl = view.spec.get("ttlSecondsAfterFinished")
        return [said] if ttl is None else [said, f"it is deleted {ttl} s after its end"]
    if phase in ("Pending", ""):
        group = (view.group or {}).get("metadata", {}).get("name")
        more = f"; more: longshore why podgroup/{group}" if group else ""
        queue = view.spec.get("queue") or "default"
        return [f"its pods start together when queue {queue} and the nodes have room{more}"]
    if phase.endswith("ing") and phase != "Running":
        return [f"it is {phase} until its pods are gone"]
    least = view.spec.get("minSuccess")
    until = f"{counted(least, 'pod')} succeeded" if least else "its pods have ended"
    return [f"the Job goes on until {until}, or one of its policies acts"]


# ---- PodGroups


def group_now(view: View) -> list[str]:
    if view.obj is None:
        return []
    status, spec = view.status, view.spec
    counts = [f"{status[key]} {key}" for key in ("running", "succeeded", "failed") if status.get(key)]
    said = [f"the gang is {status.get('phase') or 'new'}, minMember is {spec.get('minMember', 0)}"]
    if counts:
        said[0] += f": {', '.join(counts)}"
    return said + [reason.words for reason in view.waits if reason.code in _WAITING_CODES]


def group_following(view: View) -> list[str]:
    if view.obj is None:
        return ["nothing: the PodGroup is gone"]
    phase, queue = view.status.get("phase") or "", view.spec.get("queue") or "default"
    if phase == "Completed":
        return ["nothing: all its pods have ended"]
    if phase == "Running":
        return ["nothing: its pods have their nodes"]
    return [
        "the scheduler tries again when a node, the queue or another gang changes. "
        f"About its queue: longshore why queue/{queue}"
    ]


# ---- queues


def queue_now(view: View) -> list[str]:
    if view.obj is None:
        return []
    status, spec = view.status, view.spec
    groups = [
        f"{status[key]} {key}" for key in ("pending", "inqueue", "running", "unknown") if status.get(key)
    ]
    said = f"the queue is {status.get('state') or 'Unknown'}, weight {spec.get('weight', 1)}"
    if groups:
        said += f"; gangs: {', '.join(groups)}"
    found = [said]
    held = _amounts(status.get("allocated"))
    if held:
        found.append(f"its pods have {held}")
    if limit := _amounts(spec.get("capability")):
        found.append(f"its limit (capability) is {limit}")
    return found


def _amounts(listed: dict[str, str] | None) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in sorted((listed or {}).items()) if amount != "0")


def queue_following(view: View) -> list[str]:
    state, name = view.status.get("state"), view.name
    if view.obj is None:
        return ["nothing: the queue is gone"]
    if state == "Closing":
        return [
            "it is Closed when its gangs have ended; "
            f"take it back with: longshore queue operate -a open -n {name}"
        ]
    if state == "Closed":
        return [f"nothing is let in until it is opened: longshore queue operate -a open -n {name}"]
    return ["gangs are let in while there is room"]


# ---- JobFlows


def flow_now(view: View) -> list[str]:
    if view.obj is None:
        return []
    said = [f"the flow is {(view.status.get('state') or {}).get('phase') or 'new'}"]
    for job in view.jobs:
        phase = ((job.get("status") or {}).get("state") or {}).get("phase") or "new"
        said.append(f"vcjob/{job['metadata']['name']} is {phase}")
    return said


def flow_following(view: View) -> list[str]:
    if view.obj is None:
        return ["nothing: the JobFlow is gone"]
    phase = (view.status.get("state") or {}).get("phase") or ""
    if phase in ("Succeed", "Failed", "Terminating"):
        return [f"nothing: the flow is {phase}"]
    there = {job["metadata"]["name"] for job in view.jobs}
    missing = [entry for entry in view.spec.get("flows") or () if f"{view.name}-{entry['name']}" not in there]
    looks = [
        record.code for record in view.own if record.code in ("JobsDue", "NothingDue", "TemplateMissing")
    ]
    if looks[-1:] == ["TemplateMissing"]:
        again = "it is tried again, after longer and longer pauses, and goes on when the template is there"
        return [f"{again}. See those that are: longshore jobtemplate list"]
    return list(_due(missing)) or ["the flow ends when its Jobs have"]


def _due(missing: Iterable[dict[str, object]]) -> Iterable[str]:
    for entry in missing:
        depends = entry.get("dependsOn")
        targets = depends.get("targets") if isinstance(depends, dict) else None
        after = f" when {', '.join(targets)} is complete" if targets else ", which is due"
        yield f"{entry['name']} starts{after}"
