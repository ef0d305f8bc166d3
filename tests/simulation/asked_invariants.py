"""What was asked for in a spec and is granted by more than one part: places, order, quotas, time to live."""

from __future__ import annotations

from collections.abc import Iterator

from longshore.api import quantity
from longshore.api.facts import owners, pod_state
from longshore.api.pod_resources import pod_requests
from longshore.api.types import Obj
from simulation.job_oracle import seconds
from simulation.record import GANGS, JOBS, NODES, PODS, Change, Record

_REACTION_SECONDS = 20.0
"""Watches are late by a second at most where this is judged, and their delays add up."""
_CALM_SECONDS = 90.0
"""For retries after the last fault."""
_WHOLE_SECOND = 1.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 10, 300
_START_SECONDS = 3.0
_BEGINNING = seconds("2026-01-01T00:00:00Z")
_TASK = "volcano.sh/task-spec"
_QUOTAS = "resourcequotas"


def a_pod_is_on_a_node_that_it_may_use(record: Record) -> Iterator[str]:
    """The node of a pod has the labels that the pod selects, and no taint that it does not tolerate."""
    nodes: dict[str, Obj] = {}
    for change in record.changes:
        if change.key.storage == NODES:
            nodes[change.key.name] = change.obj
        elif change.key.storage == PODS and (name := change.obj["spec"].get("nodeName")):
            is_new = change.old is None or not change.old["spec"].get("nodeName")
            if is_new and not _may_use(change.obj, nodes[name]):
                yield f"{change.key.name}: is on {name}"


def containers_start_in_their_order(record: Record) -> Iterator[str]:
    """The main container of a pod starts when those before it have ended well, or run beside it."""
    for change in record.of(PODS):
        first, status = change.obj["spec"].get("initContainers"), change.obj.get("status") or {}
        main = next((c.get("state") or {} for c in status.get("containerStatuses") or ()), {})
        if not first or not (main.get("running") or main.get("terminated", {}).get("startedAt")):
            continue
        found = {each["name"]: each for each in status.get("initContainerStatuses") or ()}
        for spec in first:
            state = found.get(spec["name"], {}).get("state") or {}
            is_beside = spec.get("restartPolicy") == "Always"
            has_started = found.get(spec["name"], {}).get("restartCount") or "waiting" not in state
            has_succeeded = (state.get("terminated") or {}).get("exitCode") == 0
            if not (has_started if is_beside else has_succeeded):
                yield f"{change.key.name}: main has started, and {spec['name']} is {state}"


def a_restart_waits_its_back_off(record: Record) -> Iterator[str]:
    """A container that is restarted in place comes back at once, then after ten seconds, then after twice as
    long each time, and not much later. Judged where the node never dies, which may forget, and time is set by
    nobody."""
    scenario = record.scenario
    dies = any(crash.who in ("all", "node") for crash in scenario.crashes)
    if dies or any(deed.verb in ("lose the machine", "jump") for deed in scenario.deeds):
        return
    seen: set[tuple[str, str, int]] = set()
    for change in record.of(PODS):
        status = change.obj.get("status") or {}
        for name in ("containerStatuses", "initContainerStatuses"):
            for each in status.get(name) or ():
                key = change.obj["metadata"]["uid"], each["name"], each.get("restartCount", 0)
                started = ((each.get("state") or {}).get("running") or {}).get("startedAt")
                ended = ((each.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
                if started is None or ended is None or key in seen:
                    continue
                seen.add(key)
                pause = _pause(key[2])
                waited = seconds(started) - seconds(ended)
                if not pause - _WHOLE_SECOND <= waited <= pause + _START_SECONDS:
                    yield f"{change.key.name}: {each['name']} came back after {waited} s, due after {pause}"


def a_quota_is_never_exceeded(record: Record) -> Iterator[str]:
    """The pods of a namespace that have not ended, their requests, and its Jobs stay within its quotas."""
    hard: dict[str, tuple[str, int]] = {}
    used: dict[str, dict[str, int]] = {}
    for change in record.changes:
        namespace, storage = change.key.namespace, change.key.storage
        if storage == _QUOTAS:
            ((name, most),) = change.obj["spec"]["hard"].items()
            hard[namespace] = name, quantity.milli_value(most)
        name, most = hard.get(namespace, ("", 0))
        if storage != (JOBS if name == "count/jobs.batch" else PODS) or not name:
            continue
        there = used.setdefault(namespace, {})
        is_pod_that_ended = storage == PODS and pod_state.has_ended(change.obj)
        there.pop(change.obj["metadata"]["uid"], None)
        if change.type != "DELETED" and not is_pod_that_ended:
            cpu = pod_requests(change.obj["spec"]).get("cpu", "0") if name == "requests.cpu" else "1"
            there[change.obj["metadata"]["uid"]] = quantity.milli_value(cpu)
        if change.type == "ADDED" and sum(there.values()) > most:
            yield f"{namespace}: {name} is {sum(there.values())}m of {most}m with {change.key.name}"


def the_more_urgent_pod_goes_first(record: Record) -> Iterator[str]:
    """Where a pod of a Job is given a node, no more urgent one waits that would be content with its place."""
    if not record.scenario.is_prompt:
        return
    waiting: dict[str, tuple[float, Obj]] = {}
    nodes: dict[str, Obj] = {}
    for change in record.changes:
        if change.key.storage == NODES:
            nodes[change.key.name] = change.obj
        if change.key.storage != PODS or change.obj["spec"].get("schedulerName") == "volcano":
            continue
        uid, pod = change.obj["metadata"]["uid"], change.obj
        node = pod["spec"].get("nodeName")
        is_bound_now = uid in waiting and node
        if node or pod_state.has_ended(pod) or change.type == "DELETED" or _is_going(pod):
            waiting.pop(uid, None)
        else:
            waiting.setdefault(uid, (change.at, pod))
        for since, other in waiting.values() if is_bound_now else ():
            is_long = since < change.at - _REACTION_SECONDS
            is_first = is_long and _priority(other) > _priority(pod) and _cpu(other) <= _cpu(pod)
            if is_first and _may_use(other, nodes[node]):
                name = other["metadata"]["name"]
                yield f"{change.key.name}: is on {node}, and {name}, more urgent, waits since {since:.0f}"


def a_time_to_live_is_kept(record: Record) -> Iterator[str]:
    """A Job or gang that nobody deletes goes when its time is up: not before, and soon then."""
    scenario = record.scenario
    if any(deed.verb == "jump" for deed in scenario.deeds):
        return
    deleted = {deed.name for deed in scenario.deeds if deed.verb == "delete"}
    ended: dict[str, float] = {}
    gone: set[str] = set()
    for change in record.changes:
        meta = change.obj["metadata"]
        ttl = (change.obj.get("spec") or {}).get("ttlSecondsAfterFinished")
        if change.key.storage not in (JOBS, GANGS) or ttl is None or change.key.name in deleted:
            continue
        if (is_over := _has_ended(change)) and meta["uid"] not in ended:
            ended[meta["uid"]] = change.at - _unwritten_seconds(change)
        is_going = change.type == "DELETED" or _is_going(change.obj)
        if not is_going or not is_over or meta["uid"] in gone or owners.controller_of(change.obj) is not None:
            continue
        gone.add(meta["uid"])
        due = ended[meta["uid"]] + ttl
        late = (
            _REACTION_SECONDS
            if record.scenario.is_prompt
            else max(scenario.calm_at - due, 0.0) + _CALM_SECONDS
        )
        if not due - _WHOLE_SECOND <= change.at <= due + late:
            yield f"{change.key.name}: goes at {change.at:.1f}, its time is up at {due:.1f}"


def a_task_waits_for_the_tasks_before_it(record: Record) -> Iterator[str]:
    """A pod of a task of a gang that depends on another is made when enough pods of that have started."""
    gangs: dict[str, Obj] = {}
    started: dict[tuple[str, str], set[str]] = {}
    for change in record.changes:
        if change.key.storage == GANGS:
            gangs[change.obj["metadata"]["uid"]] = change.obj
        owner = owners.controller_of(change.obj) if change.key.storage == PODS else None
        if owner is None or owner["uid"] not in gangs:
            continue
        tasks = {task["name"]: task for task in gangs[owner["uid"]]["spec"]["tasks"]}
        name = change.obj["metadata"]["annotations"][_TASK]
        if pod_state.phase_of(change.obj) in ("Running", "Succeeded"):
            started.setdefault((owner["uid"], name), set()).add(change.key.name)
        for other in (tasks[name].get("dependsOn") or {}).get("name") or ():
            least = tasks[other]["minAvailable"]
            if change.type == "ADDED" and len(started.get((owner["uid"], other), ())) < least:
                yield f"{change.key.name}: was made, and of {other} less than {least} have started"


def _may_use(pod: Obj, node: Obj) -> bool:
    labels = node["metadata"].get("labels") or {}
    wanted = pod["spec"].get("nodeSelector") or {}
    tolerated = {each.get("key") for each in pod["spec"].get("tolerations") or ()}
    taints = {
        each["key"] for each in node["spec"].get("taints") or () if each["effect"] != "PreferNoSchedule"
    }
    return all(labels.get(key) == value for key, value in wanted.items()) and taints <= tolerated


def _pause(restarts: int) -> int:
    return min(_FIRST_PAUSE_SECONDS << restarts - 2, _LONGEST_PAUSE_SECONDS) if restarts > 1 else 0


def _is_going(obj: Obj) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _priority(pod: Obj) -> int:
    return int(pod["spec"].get("priority") or 0)


def _cpu(pod: Obj) -> int:
    return quantity.milli_value(pod_requests(pod["spec"]).get("cpu", "0"))


def _unwritten_seconds(change: Change) -> float:
    """How long it took to write an end with its time, in whole seconds: requests may be slow."""
    status = change.obj["status"]
    times = [c.get("lastTransitionTime") or "" for c in status.get("conditions") or ()]
    return max(change.at // 1 - (seconds(max(times)) - _BEGINNING), 0.0)


def _has_ended(change: Change) -> bool:
    status = change.obj.get("status") or {}
    if change.key.storage == GANGS:
        return (status.get("state") or {}).get("phase") in ("Completed", "Failed", "Terminated")
    conditions = status.get("conditions") or ()
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)
