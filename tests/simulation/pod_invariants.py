"""What always holds for pods and the machine they run on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf

from longshore.api import quantity
from longshore.api.facts import owners, pod_state
from longshore.api.pod_resources import pod_requests
from longshore.api.types import Obj
from longshore.node.runtime import Key
from longshore.testing.promises import TRACKING
from simulation.record import JOBS, NODES, PODS, Record

_SIDECAR = "beside"
"""The container that is started again whenever it ends."""
_KILLED = 137
"""The exit code of a container that was killed."""
_WHOLE_SECOND = 1.0
"""A node that comes back reads from whole seconds how much of a grace period is left."""


def a_container_starts_at_most_once(record: Record) -> Iterator[str]:
    """One attempt of a container of a pod is started once, whoever dies meanwhile."""
    started = sum((machine.started for machine in record.machines.values()), Counter[Key]())
    for key, times in started.items():
        if times > 1:
            yield f"{key}: started {times} times"


def a_pod_that_never_restarts_runs_once(record: Record) -> Iterator[str]:
    """With restartPolicy Never there is no second attempt."""
    policies = {
        change.obj["metadata"]["uid"]: change.obj["spec"]["restartPolicy"] for change in record.of(PODS)
    }
    for key in (key for machine in record.machines.values() for key in machine.started):
        if key.attempt and policies.get(key.pod_uid) == "Never" and key.container != _SIDECAR:
            yield f"{key}: attempt {key.attempt} of a pod that never restarts"


def the_end_of_a_pod_is_final(record: Record) -> Iterator[str]:
    """A pod that succeeded or failed stays so, and no pod changes its node."""
    for change in record.of(PODS):
        if change.old is None:
            continue
        old, new = pod_state.phase_of(change.old), pod_state.phase_of(change.obj)
        if pod_state.has_ended(change.old) and old != new:
            yield f"{change.key.name}: {old} became {new}"
        node = change.old["spec"].get("nodeName")
        if node and node != change.obj["spec"].get("nodeName"):
            yield f"{change.key.name}: moved from {node}"


def a_node_never_holds_more_than_it_has(record: Record) -> Iterator[str]:
    """The pods that are bound to a node and have not ended never request more cpu than it has."""
    room: dict[str, int] = {}
    held: dict[str, dict[str, int]] = {}
    for change in record.changes:
        if change.key.storage == NODES:
            cpu = (change.obj.get("status") or {}).get("allocatable", {}).get("cpu", "0")
            room[change.key.name] = quantity.milli_value(cpu)
        node = change.obj["spec"].get("nodeName") if change.key.storage == PODS else None
        if not node:
            continue
        uid, pods = change.obj["metadata"]["uid"], held.setdefault(node, {})
        if change.type == "DELETED" or pod_state.has_ended(change.obj):
            pods.pop(uid, None)
        elif uid not in pods:
            pods[uid] = quantity.milli_value(pod_requests(change.obj["spec"]).get("cpu", "0"))
            if sum(pods.values()) > room[node]:
                yield f"{node}: has {room[node]}m cpu, and {sum(pods.values())}m with {change.key.name}"


def a_pod_has_its_grace_period(record: Record) -> Iterator[str]:
    """A container of a pod that is deleted is killed only when the grace period is over, unless its machine
    goes down or somebody sets the clock."""
    if any(deed.verb in ("lose the machine", "jump") for deed in record.scenario.deeds):
        return
    until: dict[str, float] = {}
    for change in record.of(PODS):
        meta = change.obj["metadata"]
        if "deletionTimestamp" not in meta:
            continue
        grace = meta.get("deletionGracePeriodSeconds") or 0
        due = until[meta["uid"]] = min(until.get(meta["uid"], inf), change.at + grace)
        if _was_killed(change.obj) and not _was_killed(change.old or {}) and change.at < due - _WHOLE_SECOND:
            yield f"{change.key.name}: killed at {change.at:.1f}, its grace period ends at {due:.1f}"


def nothing_runs_on_in_the_end(record: Record) -> Iterator[str]:
    """When all is at rest no process is left, and no pod waits for its finalizer or its grace period.

    A failed pod carries the failures of its index until there is another. A Job that is suspended,
    or whose parallelism is 0, has none to come.
    """
    if not record.ended_quietly:
        return
    jobs = record.last(JOBS)
    for machine in record.machines.values():
        for key in machine.running:
            yield f"{key} still runs"
    for pod in record.last(PODS).values():
        meta = pod["metadata"]
        if pod_state.has_ended(pod) and carries_failures(pod, jobs):
            continue
        if "deletionTimestamp" in meta:
            yield f"{meta['name']}: deleted, and still there: {meta.get('finalizers')}"
        elif pod_state.has_ended(pod) and TRACKING in (meta.get("finalizers") or ()):
            yield f"{meta['name']}: has ended, and nobody counted it"


def _was_killed(pod: Obj) -> bool:
    """Whether the pod's container ran and was killed."""
    end = pod_state.main_end(pod)
    return end.get("exitCode") == _KILLED and end.get("startedAt") is not None


def carries_failures(pod: Obj, jobs: dict[str, Obj]) -> bool:
    """Whether a failed pod is kept for the number of failures of its index, by a Job that starts no other."""
    spec = jobs.get((owners.controller_of(pod) or {}).get("uid", ""), {}).get("spec") or {}
    stands_still = spec.get("suspend") or spec.get("parallelism") == 0
    return bool(stands_still and "backoffLimitPerIndex" in spec and pod_state.phase_of(pod) == "Failed")
