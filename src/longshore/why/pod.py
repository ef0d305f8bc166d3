"""The story of a pod: its node and why that one, how its containers ended, what deleted it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from longshore.api.facts import conditions, owners, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery import catalogue
from longshore.machinery.reasons import Reason
from longshore.machinery.records import PROBLEM, Record
from longshore.machinery.sentences import exit_words, quoted, stamp
from longshore.why import no_node, pod_now, restarts
from longshore.why.deletion import deleted
from longshore.why.kinds import KINDS
from longshore.why.needs import AGAIN, Step
from longshore.why.story import (
    START_SECONDS,
    Line,
    StoryView,
    could_not,
    memory_limit,
    merged,
    of_event,
    of_record,
)

_REPEATING_REASONS: Final = frozenset(
    ("BackOff", "Created", "ImageNotUsed", "Killing", "Pulled", "Scheduled", "Started")
)
"""Reasons of events that repeat what the records and the status say."""
_START_FAILED: Final = "Failed"
_WAITS_FOR_NODE: Final = "FailedScheduling"
_CREATED, _STARTED, _ENDED_WELL = "Created", "ContainerStarted", "ContainerEnded"
_RANKS: Final = {
    _CREATED: 0,
    _WAITS_FOR_NODE: 1,
    "Preempts": 2,
    "OnlyNode": 3,
    "BestNode": 3,
    "Scheduled": 3,
    _STARTED: 4,
}
_DEFAULT_RANK: Final = 5
"""The rank of all other lines. Ranks order lines of the same second, because statuses have whole seconds."""


def lines(view: StoryView) -> list[Line]:
    found = [*_creation(view), *_records(view), *_events(view), *_containers(view)]
    found.sort(key=lambda line: (int(line.at), _RANKS.get(line.code, _DEFAULT_RANK)))
    return merged(restarts.folded(found), by_time=False)


def _creation(view: StoryView) -> Iterator[Line]:
    if view.obj is None:
        return
    owner = owners.controller_of(view.obj)
    said = "created"
    if owner is not None:
        index = pod_state.completion_index(view.obj)
        said = f"{owner['kind']} {owner['name']} created it" + (
            f" for index {index}" if index is not None else ""
        )
    yield Line(rfc3339.seconds(view.meta.get("creationTimestamp")), said, code=_CREATED)


def _records(view: StoryView) -> Iterator[Line]:
    told = {event["reason"] for event in view.events}
    for record in view.own:
        if gone := deleted(record, "pod"):
            yield gone
        elif record.code == "StartFailed" and _START_FAILED in told:
            continue  # the event says why
        elif words := _story_words(record):
            yield of_record(record, words)
        elif record.code == PROBLEM and could_not(record) is not None:
            yield of_record(record, f"a problem of the {record.who}: {record.words}")


def restart_step(record: Record) -> Line | None:
    """The line of a container's end, back-off or next start; None for other records."""
    return of_record(record, _story_words(record)) if record.code in restarts.STEPS else None


def _story_words(record: Record) -> str:
    """The words of a record that belongs to the story; empty for any other."""
    again = stamp(record.at + float(record.numbers.get("seconds", 0)))
    return catalogue.story_words(record.code, {**record.numbers, "again": again})


def _events(view: StoryView) -> Iterator[Line]:
    """Lines for events that say something other than the records: volumes, images, probes, preemption."""
    told = {record.code for record in view.own}
    for event in view.events:
        reason, message = event["reason"], event.get("message") or ""
        if reason in _REPEATING_REASONS or (reason == "DeadlineExceeded" and reason in told):
            if reason == "Scheduled" and not told & {"OnlyNode", "BestNode"}:
                yield of_event(event, f"placed: {message}")
            continue
        if reason == "FailedMount" and "Unprepared" in told:
            continue
        if reason == _WAITS_FOR_NODE and no_node.is_start(message) and _is_placed_soon(view, event):
            continue
        said = f"no node will do: {no_node.plain(message)}" if reason == _WAITS_FOR_NODE else message
        yield of_event(event, said)


def _is_placed_soon(view: StoryView, event: Obj) -> bool:
    """Whether the pod had a node a few seconds after this event."""
    scheduled = conditions.find(view.obj, "PodScheduled") if view.obj is not None else None
    if scheduled is None or scheduled.get("status") != "True":
        return False
    return rfc3339.seconds(scheduled.get("lastTransitionTime")) - of_event(event).at <= START_SECONDS


def _containers(view: StoryView) -> Iterator[Line]:
    """Lines for starts and ends that the status shows; failed ends only if the node recorded none."""
    kept = {record.numbers.get("container") for record in view.own if record.code == "ContainerFailed"}
    for container in pod_state.statuses_of(view.obj or {}):
        name, state = container["name"], container.get("state") or {}
        for ended in (state.get("terminated"), (container.get("lastState") or {}).get("terminated")):
            if ended is not None:
                yield from _end(name, ended, memory_limit(view.spec, name), kept=name in kept)
        started = (state.get("running") or state.get("terminated") or {}).get("startedAt")
        if started and not container.get("restartCount"):
            yield Line(rfc3339.seconds(started), f"container {name} started", code=_STARTED)


def _end(name: str, ended: Obj, memory: str, *, kept: bool) -> Iterator[Line]:
    code, at = ended.get("exitCode") or 0, rfc3339.seconds(ended.get("finishedAt"))
    if not code:
        yield Line(at, f"container {name} ended well", code=_ENDED_WELL)
    elif not kept:
        said = exit_words(code, ended.get("reason") or "", memory)
        if message := quoted(ended.get("message") or ""):
            said += f", {message}"
        yield Line(at, f"container {name} ended: {said}", code="ContainerFailed")


# ---- what is so now, and what is next


def now(view: StoryView) -> list[str]:
    if view.obj is None:
        return []
    phase = pod_state.phase_of(view.obj)
    if phase in pod_state.ENDED:
        status = view.status
        if phase == "Succeeded":
            return ["the pod has succeeded"]
        reason, message = status.get("reason"), status.get("message")
        return [
            "the pod has failed" + (f": {reason}" if reason else "") + (f", {message}" if message else "")
        ]
    if "deletionTimestamp" in view.meta:
        return [f"it is being deleted, and gone at {view.meta['deletionTimestamp']} at the latest"]
    wait = pod_now.of(view, view.obj)
    if wait is None:
        unready = pod_now.unready(view.obj)
        node = view.spec.get("nodeName")
        runs = f"it runs on node {node}" + (f", but {unready} is not ready" if unready else "")
        return [runs] if phase == "Running" else ["it is about to start"]
    if wait.placed or _group(view):
        return [f"waits: {wait.words}"]
    return [f"waits: {wait.words}", *(reason.words for reason in view.waits if _adds(reason, wait.words))]


def _adds(reason: Reason, said: str) -> bool:
    return reason.code not in ("NoNodes", "SchedulingGated") and no_node.plain(reason.words) not in said


def following(view: StoryView) -> list[str]:
    owner, group = _owner(view), _group(view)
    also = [f"about its {owner[0]}: longshore why {owner[1]}"] if owner else []
    if view.obj is None:
        return ["nothing: the pod is gone", *also]
    name = view.name
    if pod_state.has_ended(view.obj):
        return [f"nothing: the pod has ended. See its logs: longshore logs {name}", *also]
    if "deletionTimestamp" in view.meta:
        return ["it goes when its containers have ended", *also]
    wait = pod_now.of(view, view.obj)
    if wait is None:
        return [*_deadline(view), *also] or ["it runs until its containers end"]
    if not wait.placed:
        if group and not wait.gated:
            also = [f"about its gang: longshore why podgroup/{group}", *also]
        other = Step("its gang does") if group else Step("a node changes or another pod ends", (_NODES,))
        step = wait.step or other
        return [f"it starts when {step.until}", *step.see, *also]
    last = view.own[-1] if view.own else None
    if last is not None and last.code == "CrashLoopBackOff":
        return [_story_words(last), f"see its logs: longshore logs {name} --previous", *also]
    if wait.step is None:
        return [f"{AGAIN}. See: longshore describe pod {name}", *also]
    return [f"it starts when {wait.step.until}; {AGAIN}", *wait.step.see, *also]


_NODES: Final = "what the nodes have: longshore describe node"


def _deadline(view: StoryView) -> list[str]:
    """The time at which a pod that still runs fails because of its deadline."""
    seconds, started = view.spec.get("activeDeadlineSeconds"), view.status.get("startTime")
    if seconds is None or not started:
        return []
    at = stamp(rfc3339.seconds(started) + seconds)
    return [f"it fails at {at} unless its containers have ended (activeDeadlineSeconds is {seconds})"]


def _group(view: StoryView) -> str:
    """The PodGroup of a pod of a gang."""
    name: str = (view.meta.get("annotations") or {}).get(pod_now.GROUP) or ""
    return name


def _owner(view: StoryView) -> tuple[str, str] | None:
    """The title of the pod's Job, and its name for `longshore why`."""
    owner = owners.controller_of(view.obj) if view.obj is not None else None
    if owner is None:
        return None
    for kind in KINDS.values():
        if (kind.kind, kind.api_version) == (owner["kind"], owner.get("apiVersion")):
            return kind.title, f"{kind.word}/{owner['name']}"
    return None
