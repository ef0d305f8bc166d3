"""The story of a pod: its node and why that one, how its containers went, who deleted it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from longshore.api.facts import owners, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason
from longshore.machinery.records import PROBLEM, Record
from longshore.why import pod_now, restarts
from longshore.why.deletion import deleted
from longshore.why.inferred import index_of
from longshore.why.kinds import KINDS
from longshore.why.story import Line, View, merged, of_event, of_record, quoted, span, stamp

_STATUSES: Final = ("initContainerStatuses", "containerStatuses")
_TOLD_OTHERWISE: Final = frozenset(
    ("BackOff", "Created", "ImageNotUsed", "Killing", "Pulled", "Scheduled", "Started")
)
"""Reasons of events that say what the records and the status say."""
_UNPREPARED: Final = frozenset(("FailedAttachVolume", "FailedCreatePodSandBox", "FailedMount"))
"""Reasons of events that the status of a pod says nothing about."""
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
_USUAL_RANK: Final = 5
"""The order of what happens in the same second: the status counts whole seconds."""


def lines(view: View) -> list[Line]:
    found = [*_creation(view), *_records(view), *_events(view), *_containers(view)]
    found.sort(key=lambda line: (int(line.at), _RANKS.get(line.code, _USUAL_RANK)))
    return merged(restarts.folded(found), by_time=False)


def _creation(view: View) -> Iterator[Line]:
    if view.obj is None:
        return
    owner = owners.controller_of(view.obj)
    said = "created"
    if owner is not None:
        index = index_of(view.obj)
        said = f"{owner['kind']} {owner['name']} created it" + (
            f" for index {index}" if index is not None else ""
        )
    yield Line(rfc3339.seconds(view.meta.get("creationTimestamp")), said, code=_CREATED)


def _records(view: View) -> Iterator[Line]:
    for record in view.own:
        if gone := deleted(record, "pod"):
            yield gone
        elif record.code in _WORDS:
            if words := _WORDS[record.code](record):
                yield of_record(record, words)
        elif record.code == PROBLEM:
            yield of_record(record, f"a problem of the {record.who}: {record.words}")


def restart_step(record: Record) -> Line | None:
    """The line of an end of a container, of its back-off or of its next start; None for other records."""
    return of_record(record, _WORDS[record.code](record)) if record.code in restarts.STEPS else None


def _placed(record: Record) -> str:
    numbers = record.numbers
    said, nodes = f"placed on node {numbers.get('node')}", int(numbers.get("nodes", 0))
    if record.code == "BestNode":
        return f"{said}, the best of {numbers.get('fit')} that will do; {numbers.get('unfit')} will not"
    return f"{said}, the only one of {nodes} that will do" if nodes > 1 else f"{said}, the only one"


def _ended(record: Record) -> str:
    numbers = record.numbers
    reason = str(numbers.get("reason", ""))
    code = numbers.get("exitCode")
    said = f"out of memory (exit code {code})" if reason == "OOMKilled" else f"exit code {code}"
    if message := quoted(str(numbers.get("message", ""))):
        said += f", {message}"
    how = "was stopped" if numbers.get("stopped") else "ended"
    return f"container {numbers.get('container')} {how}: {said}"


def _backoff(record: Record) -> str:
    name, seconds = record.words.partition(" ")[0], float(record.numbers.get("seconds", 0))
    return f"container {name} starts again about {stamp(record.at + seconds)} (back-off {span(seconds)})"


def _restarted(record: Record) -> str:
    name, restarts = record.words.partition(" ")[0], record.numbers.get("restarts")
    return f"container {name} started again, as restartPolicy says (restart {restarts})"


_WORDS: Final[Mapping[str, Callable[[Record], str]]] = {
    "OnlyNode": _placed,
    "BestNode": _placed,
    "Preempts": lambda record: f"the scheduler {record.words.replace('makes', 'made', 1)}",
    "BindingFailed": lambda record: record.words,
    "ContainerFailed": _ended,
    "CrashLoopBackOff": _backoff,
    "Restarted": _restarted,
    "Unhealthy": lambda record: record.words,
    "Killed": lambda record: f"container {record.words}",
    "DeadlineExceeded": lambda record: f"the pod failed: {record.words}" if record.numbers else "",
    "StartFailed": lambda record: f"container {record.words}",
    "Unstartable": lambda record: f"the pod failed: it {record.words}",
    "Unprepared": lambda record: record.words,
}
"""Of the records that are part of the story; an empty text leaves one out."""


def _events(view: View) -> Iterator[Line]:
    """The events that tell something else than the records: volumes, images, probes, preemption."""
    told = {record.code for record in view.own}
    for event in view.events:
        reason, message = event["reason"], event.get("message") or ""
        if reason in _TOLD_OTHERWISE or (reason == "DeadlineExceeded" and reason in told):
            if reason == "Scheduled" and not told & {"OnlyNode", "BestNode"}:
                yield of_event(event, f"placed: {message}")
            continue
        if reason == "FailedMount" and "Unprepared" in told:
            continue
        yield of_event(event, f"no node will do: {message}" if reason == _WAITS_FOR_NODE else message)


def _containers(view: View) -> Iterator[Line]:
    """Starts and ends that the status shows; bad ends are told by the node, if it kept them."""
    status = view.status
    kept = {record.numbers.get("container") for record in view.own if record.code == "ContainerFailed"}
    for kind in _STATUSES:
        for container in status.get(kind) or ():
            name, state = container["name"], container.get("state") or {}
            for ended in (state.get("terminated"), (container.get("lastState") or {}).get("terminated")):
                if ended is not None:
                    yield from _end(name, ended, kept=name in kept)
            started = (state.get("running") or state.get("terminated") or {}).get("startedAt")
            if started and not container.get("restartCount"):
                yield Line(rfc3339.seconds(started), f"container {name} started", code=_STARTED)


def _end(name: str, ended: Obj, *, kept: bool) -> Iterator[Line]:
    code, at = ended.get("exitCode") or 0, rfc3339.seconds(ended.get("finishedAt"))
    if not code:
        yield Line(at, f"container {name} ended well", code=_ENDED_WELL)
    elif not kept:
        said = f"exit code {code}"
        if message := quoted(ended.get("message") or ""):
            said += f", {message}"
        yield Line(at, f"container {name} ended: {said}", code="ContainerFailed")


# ---- what is so now, and what is next


def now(view: View) -> list[str]:
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
    waits = _waits(view)
    if not waits:
        unready = pod_now.unready(view.obj)
        node = view.spec.get("nodeName")
        runs = f"it runs on node {node}" + (f", but {unready} is not ready" if unready else "")
        return [runs] if phase == "Running" else ["it is about to start"]
    if view.spec.get("nodeName"):
        return [f"waits: {waits}"]
    return [f"waits: {waits}", *(reason.words for reason in view.waits if _adds(reason, waits))]


def _waits(view: View) -> str:
    """The reason why the pod waits: by its status or, while it is prepared, by its last event."""
    assert view.obj is not None
    if waits := pod_now.why_it_waits(view.obj):
        return waits
    last = sorted(view.events, key=lambda event: str(event.get("lastTimestamp") or ""))[-1:]
    if pod_state.phase_of(view.obj) != "Pending" or not last or last[0]["reason"] not in _UNPREPARED:
        return ""
    return str(last[0].get("message") or last[0]["reason"])


def _adds(reason: Reason, said: str) -> bool:
    return reason.code not in ("NoNodes", "SchedulingGated") and reason.words not in said


def following(view: View) -> list[str]:
    owner = _owner(view)
    also = [f"about its {owner[0]}: longshore why {owner[1]}"] if owner else []
    if view.obj is None:
        return ["nothing: the pod is gone", *also]
    name = view.name
    if pod_state.has_ended(view.obj):
        return [f"nothing: the pod has ended. See its logs: longshore logs {name}", *also]
    if "deletionTimestamp" in view.meta:
        held = view.meta.get("finalizers")
        said = (
            f"it is held by its finalizers: {', '.join(held)}"
            if held
            else "it goes when its containers have ended"
        )
        return [said, *also]
    if not view.spec.get("nodeName"):
        return [*_without_node(view), *also]
    if _waits(view):
        last = view.own[-1] if view.own else None
        if last is not None and last.code == "CrashLoopBackOff":
            return [_backoff(last), f"see its logs: longshore logs {name} --previous", *also]
        return [
            f"it is tried again, after longer and longer pauses. See: longshore describe pod {name}",
            *also,
        ]
    return [*also] or ["it runs until its containers end"]


def _without_node(view: View) -> list[str]:
    if view.spec.get("schedulingGates"):
        names = ", ".join(gate["name"] for gate in view.spec["schedulingGates"])
        return [f"it waits until its scheduling gates are removed: {names}"]
    return [
        "the scheduler tries again when a node changes or another pod ends. "
        "See what nodes have: longshore describe node"
    ]


def _owner(view: View) -> tuple[str, str] | None:
    """The title of the pod's Job, and what to ask about it."""
    owner = owners.controller_of(view.obj) if view.obj is not None else None
    if owner is None:
        return None
    for kind in KINDS.values():
        if (kind.kind, kind.api_version) == (owner["kind"], owner.get("apiVersion")):
            return kind.title, f"{kind.word}/{owner['name']}"
    return None
