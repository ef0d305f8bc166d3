"""The PodGroup of a Job: how many pods must start together, and the resources they need. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.controllers.volcano import names
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.waking import intents


def wanted(job: Obj, priorities: Mapping[str, int]) -> Obj:
    """Returns a new PodGroup for the Job."""
    meta = job["metadata"]
    made: Obj = {"name": names.group_name(job), "namespace": meta["namespace"]}
    for part in ("annotations", "labels"):
        kept = {
            key: value for key, value in (meta.get(part) or {}).items() if key not in intents.OWN_ANNOTATIONS
        }
        if kept:
            made[part] = kept
    made["ownerReferences"] = [names.owner_reference(job)]
    return {"metadata": made, "spec": _specs.of(job, priorities)}


def _spec(job: Obj, priorities: Mapping[str, int]) -> Obj:
    spec = job["spec"]
    body = {
        "minMember": spec.get("minAvailable") or 0,
        "minTaskMember": task_members(job),
        "queue": spec.get("queue") or "",
        "priorityClassName": spec.get("priorityClassName") or "",
        "networkTopology": spec.get("networkTopology"),
        "subGroupPolicy": [*_sub_groups(job)],
    }
    least = least_resources(job, priorities)  # a Job scaled to zero says that it needs nothing
    return {**{key: value for key, value in body.items() if value}, "minResources": least}


class _Specs:
    """Caches the specs of the last 64 PodGroups. Identical Jobs share one spec object, so it is made once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Obj, Mapping[str, int], Obj]] = {}

    def of(self, job: Obj, priorities: Mapping[str, int]) -> Obj:
        """Returns the PodGroup's spec, which must not be changed."""
        spec = job["spec"]
        known = self._known.get(id(spec))
        if known is not None and known[0] is spec and known[1] == priorities:
            return known[2]
        made = _spec(job, priorities)
        if len(self._known) >= _MAX_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[id(spec)] = spec, priorities, made
        return made


_MAX_REMEMBERED: Final = 64
_specs: Final = _Specs()


def updated(group: Obj, job: Obj, priorities: Mapping[str, int]) -> Obj | None:
    """Returns the PodGroup updated to the Job's spec; None if unchanged. Keeps members of removed tasks."""
    old, new = group["spec"], _specs.of(job, priorities)
    made = dict(old)
    for key in ("priorityClassName", "minMember", "minResources", "subGroupPolicy"):
        if key in new:
            made[key] = new[key]
        else:
            made.pop(key, None)
    made["minTaskMember"] = {**(old.get("minTaskMember") or {}), **new.get("minTaskMember", {})}
    if _plain(made) == _plain(old):
        return None
    return {**group, "spec": made}


def _plain(spec: Obj) -> Obj:
    """Returns the spec in a form to compare: quantities as numbers, without empty fields."""
    kept = {key: value for key, value in spec.items() if value}
    if "minResources" in kept:
        kept["minResources"] = {
            key: quantity.parse(str(value)).amount for key, value in kept["minResources"].items()
        }
    if "subGroupPolicy" in kept:
        kept["subGroupPolicy"] = [{"minSubGroups": 0, **policy} for policy in kept["subGroupPolicy"]]
    return kept


def task_members(job: Obj) -> dict[str, int]:
    """Returns how many pods of each task must start together."""
    found = {}
    for task in job["spec"].get("tasks") or ():
        policy = task.get("partitionPolicy") or {}
        whole = (policy.get("minPartitions") or 0) * (policy.get("partitionSize") or 0)
        given = task.get("minAvailable")
        found[task["name"]] = given if given is not None else whole or tasks.replicas(task)
    return found


def _sub_groups(job: Obj) -> Iterator[Obj]:
    for task in job["spec"].get("tasks") or ():
        policy = task.get("partitionPolicy")
        if policy is None:
            continue
        made: Obj = {
            "name": task["name"],
            "subGroupSize": policy.get("partitionSize") or 0,
            "minSubGroups": policy.get("minPartitions") or 0,
            "labelSelector": {"matchLabels": {names.TASK_SPEC: task["name"]}},
            "matchLabelKeys": [names.PARTITION],
        }
        if policy.get("networkTopology"):
            made["networkTopology"] = policy["networkTopology"]
        yield made


def least_resources(job: Obj, priorities: Mapping[str, int]) -> dict[str, str]:
    """Returns the requests of the first `minAvailable` pods, in the order of their tasks' priority."""
    ordered = sorted(
        job["spec"].get("tasks") or (),
        key=lambda task: -priorities.get(task["template"]["spec"].get("priorityClassName") or "", 0),
    )
    total: dict[str, str] = {}
    left = job["spec"].get("minAvailable") or 0
    if left < tasks.total_minimum(job):
        _take(total, ordered, left, [tasks.replicas(task) for task in ordered])
        return total
    least = [tasks.minimum(task) for task in ordered]
    left = _take(total, ordered, left, least)
    more = [tasks.replicas(task) - needed for task, needed in zip(ordered, least, strict=True)]
    _take(total, ordered, left, more)
    return total


def _take(total: dict[str, str], ordered: Iterable[Obj], left: int, counts: Iterable[int]) -> int:
    """Adds the requests of up to `counts` pods per task, at most `left` in total; returns the rest of
    `left`."""
    for task, count in zip(ordered, counts, strict=True):
        number = max(min(count, left), 0)
        left -= number
        if number:
            for name, amount in names.quota_charge(task["template"]["spec"]).items():
                _add(total, name, amount, number)
    return left


def _add(total: dict[str, str], name: str, amount: str, times: int) -> None:
    one = quantity.parse(amount)
    many = str(quantity.Quantity(one.amount * times, one.format))
    total[name] = quantity.add(total[name], many) if name in total else many
