"""The stories of Volcano's kinds: Jobs and their gangs, PodGroups, queues, JobFlows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from longshore.api.facts import owners, volcano_job_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Place
from longshore.machinery.records import PROBLEM, Record
from longshore.machinery.sentences import counted, exit_words, quoted
from longshore.why import gang_now, pod_now
from longshore.why.deletion import line
from longshore.why.kinds import KINDS
from longshore.why.needs import Step
from longshore.why.story import (
    START_SECONDS,
    Created,
    Line,
    StoryView,
    merged,
    of_event,
    of_record,
    once,
)

_ENDED: Final = ("Completed", "Failed", "Terminated", "Aborted")
_BEFORE: Final = ("Pending", "Restarting", "new")
"""Phases of a Job whose gang has not started."""
_GANG_WAITS: Final = ("Pending", "Inqueue")


def lines(view: StoryView) -> list[Line]:
    created = Created(view.pods)
    found = [each for record in _after_start(view.own) if (each := _line(view, record, created)) is not None]
    if not found:
        return merged(of_event(event) for event in view.events)
    if view.kind.word != "vcjob":
        return once(found)
    return merged([*_failures(view), *found, *_newer_phase(view, found)])


def _after_start(records: Sequence[Record]) -> Iterator[Record]:
    """The records, except waits of a gang for longshore's own node if that joined soon after."""
    for record in records:
        nodeless = any(each.at == record.at and each.numbers.get("total") == "0" for each in records)
        if catalogue.place(record.code) is Place.WAITS and nodeless:
            later = (each.at for each in records if each.at > record.at and each.code.startswith("Phase"))
            if next(later, record.at + START_SECONDS + 1) - record.at <= START_SECONDS:
                continue
        yield record


def _newer_phase(view: StoryView, told: Iterable[Line]) -> Iterator[Line]:
    """A line for the Job's phase if it is newer than the rest: its writer died before it kept the reason."""
    for condition in (view.status.get("conditions") or ())[-1:]:
        since = rfc3339.seconds(condition["lastTransitionTime"])
        if all(line.at < since for line in told):
            yield Line(since, f"{condition['status']}: the reason was not kept", code=condition["status"])


def _failures(view: StoryView) -> Iterator[Line]:
    """Lines for containers of the Job's pods that failed by themselves, as the node recorded. Pods of an
    earlier Job of this name had the same names, so only those since the Job's first reason are included."""
    since = view.own[0].at
    for record in view.pod_records:
        numbers = record.numbers
        if record.code == "ContainerFailed" and record.at >= since and not numbers.get("stopped"):
            reason, memory = str(numbers.get("reason", "")), str(numbers.get("memory", ""))
            how = exit_words(numbers.get("exitCode"), reason, memory)
            said = f"{how} in container {numbers.get('container')}"
            message = quoted(str(numbers.get("message", "")))
            yield of_record(record, f"pod {record.name} failed: {said}" + (f", {message}" if message else ""))


def _line(view: StoryView, record: Record, created: Created) -> Line | None:
    if record.code == "PodsDeleted" and not record.numbers.get("pods"):
        return None
    if record.code == "PodsCreated":
        many = created.at(record.at, int(record.numbers.get("pods", 0)))
        if any((each.code, each.at) == (PROBLEM, record.at) for each in view.own):
            return of_record(record, record.then(pods=many)) if many else None
    return line(record, view.kind.title)


# ---- Jobs


def job_now(view: StoryView) -> list[str]:
    if view.obj is None:
        return []
    phase = (view.status.get("state") or {}).get("phase") or "new"
    counts = [
        f"{view.status[key]} {key}"
        for key in ("pending", "running", "succeeded", "failed", "terminating", "unknown")
        if view.status.get(key)
    ]
    said = [f"the Job is {phase}" + (f": {', '.join(counts)}" if counts else "")]
    waits = pod_now.waits(view, view.pods)
    if phase in _BEFORE and not gang_now.stuck(waits):
        return said + [f"its gang: {words}" for words in gang_now.words(view)]
    return said + pod_now.waiting(waits) if phase not in _ENDED else said


def job_following(view: StoryView) -> list[str]:
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
    waits = pod_now.waits(view, view.pods)
    if stuck := gang_now.stuck(waits):
        return pod_now.steps(stuck)
    if phase in ("Pending", ""):
        group = (view.group or {}).get("metadata", {}).get("name")
        more = [f"more about the gang: longshore why podgroup/{group}"] if group else []
        queue = view.spec.get("queue") or "default"
        step = gang_now.step(view, view.group) or Step(f"queue {queue} and the nodes have room")
        return [f"its pods start together when {step.until}", *step.see, *more]
    if phase.endswith("ing") and phase != "Running":
        return [f"it is {phase} until its pods are gone"]
    least = view.spec.get("minSuccess")
    until = f"{counted(least, 'pod')} succeeded" if least else "its pods have ended"
    return [f"the Job goes on until {until}, or one of its policies acts", *pod_now.steps(waits)]


# ---- PodGroups


def group_now(view: StoryView) -> list[str]:
    if view.obj is None:
        return []
    status, spec = view.status, view.spec
    counts = [f"{status[key]} {key}" for key in ("running", "succeeded", "failed") if status.get(key)]
    said = [f"the gang is {status.get('phase') or 'new'}, minMember is {spec.get('minMember', 0)}"]
    if counts:
        said[0] += f": {', '.join(counts)}"
    if stuck := gang_now.stuck(pod_now.waits(view, view.pods)):
        return said + pod_now.waiting(stuck)
    return said + gang_now.without_repeats(
        [reason for reason in view.waits if catalogue.place(reason.code) is Place.WAITS]
    )


def group_following(view: StoryView) -> list[str]:
    if view.obj is None:
        return ["nothing: the PodGroup is gone"]
    phase, queue = view.status.get("phase") or "", view.spec.get("queue") or "default"
    if phase == "Completed":
        return ["nothing: all its pods have ended"]
    owner = owners.controller_of(view.obj)
    about = (
        [f"about its Volcano Job: longshore why vcjob/{owner['name']}"] if owner and _is_ours(owner) else []
    )
    if stuck := gang_now.stuck(pod_now.waits(view, view.pods)):
        return [*pod_now.steps(stuck), *about]
    if phase == "Running":
        return ["nothing: its pods have their nodes", *about]
    if (step := gang_now.step(view, view.obj)) is not None:
        return [f"its pods start together when {step.until}", *step.see, *about]
    return [
        "the scheduler tries again when a node, the queue or another gang changes. "
        f"About its queue: longshore why queue/{queue}",
        *about,
    ]


def _is_ours(owner: Obj) -> bool:
    return (owner["kind"], owner.get("apiVersion")) == (KINDS["vcjob"].kind, KINDS["vcjob"].api_version)


# ---- queues


def queue_now(view: StoryView) -> list[str]:
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
    if waiting := _waiting_gangs(view):
        many = "gang waits" if len(waiting) == 1 else "gangs wait"
        found.append(f"{len(waiting)} {many}, {_title(waiting[0])} the longest")
    return found


def _waiting_gangs(view: StoryView) -> list[Obj]:
    """The gangs of a queue that wait for their pods, the oldest first."""
    found = [g for g in view.gangs if ((g.get("status") or {}).get("phase") or "Pending") in _GANG_WAITS]
    return sorted(found, key=lambda group: str(group["metadata"]["creationTimestamp"]))


def _title(group: Obj) -> str:
    return f"{group['metadata']['namespace']}/{group['metadata']['name']}"


def _amounts(listed: dict[str, str] | None) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in sorted((listed or {}).items()) if amount != "0")


def queue_following(view: StoryView) -> list[str]:
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
    if waiting := _waiting_gangs(view):
        meta = waiting[0]["metadata"]
        return [f"about the gang that waits: longshore why podgroup/{meta['name']} -n {meta['namespace']}"]
    return ["gangs are let in while there is room"]


# ---- JobFlows


def flow_now(view: StoryView) -> list[str]:
    if view.obj is None:
        return []
    said = [f"the flow is {(view.status.get('state') or {}).get('phase') or 'new'}"]
    for job in view.jobs:
        phase = ((job.get("status") or {}).get("state") or {}).get("phase") or "new"
        said.append(f"vcjob/{job['metadata']['name']} is {phase}")
    return said


def flow_following(view: StoryView) -> list[str]:
    if view.obj is None:
        return ["nothing: the JobFlow is gone"]
    phase = (view.status.get("state") or {}).get("phase") or ""
    if phase in ("Succeed", "Failed", "Terminating"):
        return [f"nothing: the flow is {phase}", *_about_jobs(view, "Failed", "Terminated", "Aborted")]
    there = {job["metadata"]["name"] for job in view.jobs}
    unmade = [entry for entry in view.spec.get("flows") or () if f"{view.name}-{entry['name']}" not in there]
    looks = [
        record.code for record in view.own if record.code in ("JobsDue", "NothingDue", "TemplateMissing")
    ]
    if looks[-1:] == ["TemplateMissing"]:
        again = "it is tried again, after longer and longer pauses, and goes on when the template is there"
        return [f"{again}. See those that are: longshore jobtemplate list"]
    about = _about_jobs(view, "Pending", "Failed", "Terminated", "Aborted")
    return [*(list(_due(unmade)) or ["the flow ends when its Jobs have"]), *about]


def _about_jobs(view: StoryView, *phases: str) -> list[str]:
    """A command about the first Job of a flow that is in one of these phases."""
    names = [job["metadata"]["name"] for job in view.jobs if volcano_job_state.phase_of(job) in phases]
    return [f"about the Job that holds it up: longshore why vcjob/{name}" for name in names[:1]]


def _due(unmade: Iterable[dict[str, object]]) -> Iterable[str]:
    for entry in unmade:
        depends = entry.get("dependsOn")
        targets = depends.get("targets") if isinstance(depends, dict) else None
        after = f" when {', '.join(targets)} is complete" if targets else ", which is due"
        yield f"{entry['name']} starts{after}"
