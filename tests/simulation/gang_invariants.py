"""What always holds for Volcano Jobs, their pod groups and queues."""

from __future__ import annotations

from collections.abc import Iterator

from longshore.api import quantity
from longshore.api.facts import owners, pod_state
from longshore.api.pod_resources import pod_requests
from longshore.api.types import Obj
from simulation.record import GANGS, POD_GROUPS, PODS, QUEUES, Record

_GROUP = "scheduling.k8s.io/group-name"
_VERSION = "volcano.sh/job-version"
_FINAL = ("Completed", "Failed", "Terminated")
_PATIENCE_SECONDS = 60.0
"""For so long a scheduler may be away between two bindings of one gang."""
_STOPPED_SECONDS = 20.0
"""So late pods are stopped at most: there is one such watch for the failure and one for what follows."""


def the_end_of_a_gang_is_final(record: Record) -> Iterator[str]:
    """A Volcano Job that completed, failed or was terminated stays so."""
    for change in record.of(GANGS):
        old, new = _phase(change.old or {}), _phase(change.obj)
        if old in _FINAL and new != old and change.type != "DELETED":
            yield f"{change.key.name}: {old} became {new}"


def a_gang_starts_as_a_whole(record: Record) -> Iterator[str]:
    """As long as none of its pods has ended, a gang has no pod on a node or at least minMember of them.

    Where nothing hinders the scheduler, so many are on nodes before the first of them has ended.
    """
    is_calm = record.scenario.is_smooth and not record.scenario.trouble.lag
    members: dict[str, int] = {}
    bound: dict[str, set[str]] = {}
    began: dict[str, float] = {}
    broken: set[str] = set()
    for change in record.changes:
        if change.key.storage == POD_GROUPS:
            members[change.key.name] = change.obj["spec"].get("minMember", 1)
        if change.key.storage != PODS:
            continue
        group = (change.obj["metadata"].get("annotations") or {}).get(_GROUP)
        if group is None or group in broken:
            continue
        if pod_state.has_ended(change.obj) or "deletionTimestamp" in change.obj["metadata"]:
            broken.add(group)
            started = len(bound.get(group, ()))
            if is_calm and "deletionTimestamp" not in change.obj["metadata"] and started < members[group]:
                yield f"{group}: {started} of {members[group]} were started when {change.key.name} ended"
            continue
        if change.obj["spec"].get("nodeName"):
            began.setdefault(group, change.at)
            bound.setdefault(group, set()).add(change.key.name)
    end = record.changes[-1].at if record.changes else 0.0
    for group, since in began.items():
        if group not in broken and end - since > _PATIENCE_SECONDS and len(bound[group]) < members[group]:
            yield f"{group}: {len(bound[group])} of {members[group]} run, since {since:.0f}"


def a_gang_that_was_let_in_has_pods(record: Record) -> Iterator[str]:
    """At rest no Volcano Job waits for a PodGroup that was let in; unless the names of its pods are taken."""
    pods = [pod["metadata"]["name"] for pod in record.last(PODS).values()]
    groups = record.last(POD_GROUPS).values()
    inqueue = {(owners.controller_of(group) or {}).get("uid") for group in groups if _is_let_in(group)}
    for uid, gang in record.at_rest(GANGS).items():
        name = gang["metadata"]["name"]
        has_pods = any(pod.startswith(f"{name}-") for pod in pods)
        if _phase(gang) == "Pending" and uid in inqueue and not has_pods:
            yield f"{name}: was let in, and has no pods"


def a_gang_that_lost_a_pod_does_not_run_on(record: Record) -> Iterator[str]:
    """Where a pod that fails is to end or restart the whole gang, the pods beside it are stopped at once.

    Judged where no request fails, nobody dies and watches are little late.
    """
    if not record.scenario.is_prompt:
        return
    whole: set[str] = set()
    failed_at: dict[tuple[str, str], float] = {}
    for change in record.changes:
        if change.key.storage == GANGS and _ends_with_a_pod(change.obj):
            whole.add(change.obj["metadata"]["uid"])
        owner = owners.controller_of(change.obj) if change.key.storage == PODS else None
        if owner is None or owner["uid"] not in whole or "deletionTimestamp" in change.obj["metadata"]:
            continue
        if not pod_state.has_ended(change.obj) or change.type == "DELETED":
            continue
        start = (owner["uid"], change.obj["metadata"]["annotations"][_VERSION])
        if change.at - failed_at.get(start, change.at) > _STOPPED_SECONDS:
            yield f"{owner['name']}: lost a pod at {failed_at[start]:.0f}; {change.key.name} ran on"
        if pod_state.phase_of(change.obj) == "Failed":
            failed_at.setdefault(start, change.at)


def a_queue_never_exceeds_its_capability(record: Record) -> Iterator[str]:
    """The pods of a queue that are on nodes never request more than the queue may have."""
    queue_of: dict[str, str] = {}
    capability: dict[str, int] = {}
    used: dict[str, dict[str, int]] = {}
    for change in record.changes:
        if change.key.storage == POD_GROUPS:
            queue_of[change.key.name] = change.obj["spec"].get("queue", "default")
        elif change.key.storage == QUEUES:
            cpu = (change.obj["spec"].get("capability") or {}).get("cpu")
            if cpu is not None:
                capability[change.key.name] = quantity.milli_value(cpu)
        elif change.key.storage == PODS:
            group = (change.obj["metadata"].get("annotations") or {}).get(_GROUP, "")
            queue = queue_of.get(group, "")
            if queue not in capability:
                continue
            pods = used.setdefault(queue, {})
            if _holds_a_place(change.obj) and change.type != "DELETED":
                pods[change.key.name] = quantity.milli_value(pod_requests(change.obj["spec"]).get("cpu", "0"))
            else:
                pods.pop(change.key.name, None)
            if sum(pods.values()) > capability[queue]:
                yield f"queue {queue}: {sum(pods.values())}m of {capability[queue]}m are in use"


def _ends_with_a_pod(gang: Obj) -> bool:
    """Whether a pod that fails ends or restarts the whole gang."""
    actions = ("AbortJob", "CompleteJob", "RestartJob", "TerminateJob")
    policies = gang["spec"].get("policies") or ()
    return any(p.get("event") in ("PodFailed", "*") and p["action"] in actions for p in policies)


def _is_let_in(group: Obj) -> bool:
    return _status(group).get("phase") == "Inqueue"


def _holds_a_place(pod: Obj) -> bool:
    is_going = "deletionTimestamp" in pod["metadata"]
    return bool(pod["spec"].get("nodeName")) and not pod_state.has_ended(pod) and not is_going


def _status(gang: Obj) -> Obj:
    status: Obj = gang.get("status") or {}
    return status


def _phase(gang: Obj) -> str:
    return str((_status(gang).get("state") or {}).get("phase", ""))
