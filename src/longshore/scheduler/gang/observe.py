"""Makes the view of a cycle from caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from longshore.api.facts import pod_state
from longshore.api.time import durations, rfc3339
from longshore.api.types import Obj
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.gang.cycle import Member, SeenGroup
from longshore.scheduler.gang.model.task import (
    BINDING,
    BOUND,
    FAILED,
    PENDING,
    RELEASING,
    RUNNING,
    SUCCEEDED,
    UNKNOWN,
)
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.ledger import Ledger

_SLA: Final = ("volcano.sh/sla-waiting-time", "sla-waiting-time")
_BY_PHASE: Final = {"Succeeded": SUCCEEDED, "Failed": FAILED, "Running": RUNNING, "Unknown": UNKNOWN}


def groups(
    objects: Iterable[Obj],
    statuses: Mapping[str, Obj],
    pods: Mapping[Key, Iterable[Pod]],
    ledger: Ledger,
    priorities: Cache,
    ages: Mapping[Key, float],
    *,
    sla: Plugin | None,
) -> list[SeenGroup]:
    """The groups with their pods. `statuses` are written ones that the cache may not show yet, by uid."""
    default = _default_priority(priorities)
    found = []
    for obj in objects:
        members = tuple([_member(pod, ledger) for pod in pods.get(key_of(obj), ())])
        status = statuses.get(obj["metadata"]["uid"])
        found.append(
            SeenGroup(
                obj,
                status if status is not None else obj.get("status") or {},
                members,
                _priority(obj, priorities, default),
                _deadline(obj, sla) if sla is not None else None,
                ages[key_of(obj)],
            )
        )
    return found


def _member(pod: Pod, ledger: Ledger) -> Member:
    obj = pod.obj
    known = ledger.pods.get(pod.uid)
    node = obj["spec"].get("nodeName") or (known.node if known is not None else "")
    phase = pod_state.phase_of(obj)
    if phase in pod_state.ENDED:
        return Member(pod, _BY_PHASE[phase], node)
    if "deletionTimestamp" in obj["metadata"]:
        return Member(pod, RELEASING, node)
    if phase in _BY_PHASE:
        return Member(pod, _BY_PHASE[phase], node)
    if obj["spec"].get("nodeName"):
        return Member(pod, BOUND, node)
    return Member(pod, BINDING if node else PENDING, node)


def _priority(obj: Obj, priorities: Cache, default: int) -> int:
    name = (obj.get("spec") or {}).get("priorityClassName")
    found = priorities.get("", name) if name else None
    return default if found is None else int(found.get("value") or 0)


def _default_priority(priorities: Cache) -> int:
    values = [int(each.get("value") or 0) for each in priorities if each.get("globalDefault")]
    return min(values, default=0)


def _deadline(obj: Obj, sla: Plugin) -> float | None:
    """The end of the gang's waiting time, which an annotation of the gang sets, else the plugin."""
    notes = obj["metadata"].get("annotations") or {}
    text = next((notes[key] for key in _SLA if key in notes), "")
    seconds = sla.argument("sla-waiting-time")
    if text:
        try:
            seconds = durations.parse(text) / 1e9
        except ValueError:
            return None
    return None if seconds is None else rfc3339.seconds(obj["metadata"]["creationTimestamp"]) + seconds
