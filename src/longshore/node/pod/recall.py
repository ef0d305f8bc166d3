"""Remembers a pod after a restart of longshore, from its status and from the runtime's records.

The newest runs are read from the runtime, runs that the runtime has forgotten from the status. If a run is
running by the status but unknown to the runtime, it is lost. No run is repeated: the next run has the next
attempt number.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from longshore.api.facts import pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.node.pod import backoff, ends
from longshore.node.pod.facts import facts_of
from longshore.node.pod.life import Life, Paths
from longshore.node.pod.memory import ContainerMemory, PodMemory
from longshore.node.preparing.types import CannotPrepare, NotReady, Preparation
from longshore.node.runtime import ContainerState, Key


def new(pod: Obj, ip: str) -> PodMemory:
    """The memory of a pod of which nothing ever ran."""
    facts = facts_of(pod)
    inits = [ContainerMemory(c) for c in facts.inits] if facts.inits else []
    ephemerals = [ContainerMemory(c) for c in facts.ephemerals] if facts.ephemerals else []
    return PodMemory(facts, pod, ip, inits, [ContainerMemory(c) for c in facts.mains], ephemerals)


def recalled(pod: Obj, ip: str, states: Iterable[ContainerState]) -> PodMemory:
    """The memory of a pod of which something may have run."""
    memory = new(pod, ip)
    status = pod.get("status") or {}
    memory.start_time = status.get("startTime") or ""
    memory.started_at = rfc3339.seconds(memory.start_time)
    if status.get("phase") in pod_state.ENDED:
        memory.terminal = status["phase"]
    by_name: dict[str, dict[int, ContainerState]] = {}
    for state in states:
        by_name.setdefault(state.key.container, {})[state.key.attempt] = state
    reports = {entry["name"]: entry for entry in pod_state.statuses_of(pod, *pod_state.ALL_STATUSES)}
    for record in memory.records():
        name = record.facts.name
        _record(memory.facts.uid, record, by_name.get(name, {}), reports.get(name) or {})
    memory.initialized = any(r.state is not None or r.last is not None for r in memory.mains)
    return memory


def _record(uid: str, record: ContainerMemory, states: dict[int, ContainerState], report: Obj) -> None:
    told = _run_in_status(uid, record.facts.name, report)
    newest = max(states, default=-1)
    if told is not None and told[0].key.attempt > newest:
        state, ended = told
        record.attempt, record.state, record.ended = state.key.attempt, state, ended
        record.last = (
            (report.get("lastState") or {}).get("terminated") if "terminated" in _now(report) else None
        )
    elif newest >= 0:
        record.attempt, record.state = newest, states[newest]
        if told is not None and told[0].key.attempt == newest:
            record.ended = told[1] if told[0].phase == "exited" else None
            if "waiting" not in _now(report):
                record.last = (report.get("lastState") or {}).get("terminated")
        elif told is not None:
            record.last = told[1]
        if record.last is None and newest - 1 in states:
            record.last = _terminated_before(states[newest - 1])
    record.backoff = backoff.recalled(record.attempt)
    if record.state is not None:
        record.backoff_set = record.state.started_at
        # The hook ran or was cut off; postStart must not run a second time.
        record.hook = "done" if record.facts.post_start is not None else ""
        if record.state.phase == "running":
            record.started = bool(report.get("started")) or not record.facts.has_startup
            record.ready = bool(report.get("ready")) or not (
                record.facts.has_readiness or record.facts.has_startup
            )


def _now(report: Obj) -> Obj:
    return report.get("state") or {}


def _run_in_status(uid: str, name: str, report: Obj) -> tuple[ContainerState, Obj | None] | None:
    """The newest run in the status, with its end; None if there is none."""
    attempt = report.get("restartCount") or 0
    key = Key(uid, name, attempt)
    now, last = _now(report), report.get("lastState") or {}
    if "terminated" in now:
        return _ended(key, now["terminated"])
    if "running" in now:
        began = rfc3339.seconds(now["running"].get("startedAt") or "")
        runtime_id = (report.get("containerID") or "").partition("://")[2]
        return ContainerState(key, "lost", runtime_id, started_at=began), None
    if "terminated" in last:  # the container waits for its next start
        return _ended(key, last["terminated"])
    return None


def _ended(key: Key, ended: Obj) -> tuple[ContainerState, Obj]:
    state = ContainerState(
        key,
        "exited",
        (ended.get("containerID") or "").partition("://")[2],
        started_at=rfc3339.seconds(ended.get("startedAt") or ""),
        finished_at=rfc3339.seconds(ended.get("finishedAt") or ""),
        exit_code=ended.get("exitCode") or 0,
        signal=ended.get("signal") or 0,
        reason=ended.get("reason") or "",
        message=ended.get("message") or "",
    )
    return state, ended


def _terminated_before(state: ContainerState) -> Obj | None:
    from longshore.node.status.containers import terminated

    return terminated(state, "") if state.phase != "running" else None


log = logging.getLogger(__name__)


async def adopt(life: Life, preparer: Preparation) -> None:
    memory = life.memory
    try:
        if not memory.terminal:
            life.prepared = await preparer.pod(memory.pod)
            memory.prepared = True
    except NotReady as err:
        log.info("pod %s: %s", memory.facts.title, err)
    except Exception:  # the pod's containers run already, and are adopted in any case
        log.exception("pod %s: could not be prepared again", memory.facts.title)
    for record in memory.records():
        if record.state is None:
            continue
        if life.prepared is not None:
            try:
                found = preparer.container(
                    life.prepared, memory.pod, record.facts.spec, record.attempt, memory.ip
                )
            except CannotPrepare as err:
                log.info("pod %s: %s", memory.facts.title, err)
            else:
                life.paths[record.facts.name] = Paths(found.termination_message, found.log)
        if record.over and record.ended is None:
            record.ended = ends.end_of(life, record)
