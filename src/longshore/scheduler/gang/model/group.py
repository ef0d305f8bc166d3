"""A gang within one cycle, which alone changes it: its tasks, their room, and whether that is enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from longshore.api import pod_resources, quantity
from longshore.api.selectors import labels
from longshore.api.types import Obj
from longshore.machinery.informers.cache import key_of
from longshore.machinery.reasons import Reason
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts, rest, total
from longshore.scheduler.gang.cycle import SeenGroup
from longshore.scheduler.gang.model import topology
from longshore.scheduler.gang.model.task import HOLDING, PENDING, PIPELINED, READY, VALID, Subgroup, Task
from longshore.scheduler.gang.model.topology import Wish

_COUNT: Final = "count/"
ROLE_ORDER: Final = "volcano.sh/task-topology-task-order"
GROWING_SECONDS: Final = 1.0
"""A gang may lack pods for this long, since real clusters create its pods one by one."""


def _order(task: Task) -> tuple[int, int, str, str]:
    return -task.priority, *_age(task)


def _age(task: Task) -> tuple[int, str, str]:
    meta = task.pod.obj["metadata"]
    return task.index, meta["creationTimestamp"], meta["uid"]


class GroupRules(NamedTuple):
    """The rules that all gangs of a scheduler follow."""

    all_or_nothing: bool = True
    """Whether a gang needs its minimum before any of it is bound."""
    waits_whole: bool = True
    """Whether room that will become free is kept only for gangs that it completes."""
    by_priority: bool = True
    """Whether tasks of higher priority come first."""
    by_role: bool = False
    """Whether tasks come in the order of roles that the Job's annotation gives."""


_VOLCANOS: Final = GroupRules()


class Group:
    """A PodGroup with its tasks, made from `seen`, which is not changed."""

    def __init__(self, seen: SeenGroup, rules: GroupRules = _VOLCANOS) -> None:
        obj, status = seen.obj, seen.status
        spec, meta = obj.get("spec") or {}, obj["metadata"]
        self.seen, self.obj, self.key, self.uid = seen, obj, key_of(obj), str(meta["uid"])
        self.rules = rules
        tasks = [Task(*member) for member in seen.members]
        tasks.sort(key=_order if rules.by_priority else _age)
        self.tasks: dict[str, Task] = {task.pod.uid: task for task in tasks}
        for task in tasks:
            task.group = self
        if rules.by_role:
            self._sort_by_role()
        self.priority, self.deadline = seen.priority, seen.deadline
        self._age = seen.age
        self.queue: str = spec.get("queue") or "default"
        self.min_member: int = spec.get("minMember") or 0
        self.min_roles: dict[str, int] = spec.get("minTaskMember") or {}
        self.min_resources: Amounts | None = None
        if spec.get("minResources") is not None:
            self.min_resources = _minimum(tuple(spec["minResources"].items()))
        self.status = status
        self.phase: str = status.get("phase") or ""
        self.created: str = meta["creationTimestamp"]
        self.misfits: dict[str, str] = {}
        """Tasks that fit no node, by uid, with the reasons of the nodes."""
        self.notes: list[Reason] = []
        """Reasons for people: the decisions of this cycle, with numbers."""
        self.gated: Amounts = total(task.requests for task in tasks if task.gated and not task.queue_gated)
        """The requests of gated tasks, which are not waited for. Tasks gated only by their queue are not
        included."""
        self.counts: dict[str, int] = {}
        """Tasks by status."""
        self.ready_count = 0
        self.held_count = 0
        self.holding: Amounts = {}
        """The amounts of the group's tasks on nodes."""
        self._idle = 0
        self._met: dict[str, int] = {}
        self._later: dict[str, int] = {}
        self.wish = topology.wish_of(spec.get("networkTopology"))
        """How near to each other the pods of the gang must be."""
        self._wishes = [
            topology.wish_of(each.get("networkTopology")) for each in spec.get("subGroupPolicy") or ()
        ]
        self._policies = [
            (policy.get("subGroupSize") or 1, policy.get("minSubGroups") or 0)
            for policy in spec.get("subGroupPolicy") or ()
        ]
        self._parts: dict[Subgroup, int] = {}
        self._later_parts: dict[Subgroup, int] = {}
        self._divide(spec.get("subGroupPolicy") or ())
        for task in self.tasks.values():
            self._count(task, 1)

    def _sort_by_role(self) -> None:
        notes = self.obj["metadata"].get("annotations") or {}
        places = {role.strip(): n for n, role in enumerate(str(notes.get(ROLE_ORDER) or "").split(","))}
        ordered = sorted(self.tasks.values(), key=lambda task: places.get(task.role, len(places)))
        self.tasks = {task.pod.uid: task for task in ordered}

    def wish_of(self, task: Task) -> Wish | None:
        """How near to each other the pods of the task's subgroup must be."""
        return self._wishes[task.subgroup[0]] if task.subgroup is not None else None

    def in_status(self, *statuses: str) -> list[Task]:
        if not any(self.counts.get(status) for status in statuses):
            return []
        return [task for task in self.tasks.values() if task.status in statuses]

    @property
    def promise(self) -> Amounts | None:
        """The minimum promised to the gang once it is admitted, without gated tasks."""
        least = self.min_resources
        return rest(least, self.gated) if least is not None and self.gated else least

    def move(self, task: Task, status: str) -> None:
        """Changes the status of a task and updates all counts, so that reading them is cheap."""
        self._count(task, -1)
        task.status = status
        self._count(task, 1)

    def _count(self, task: Task, sign: int) -> None:
        status, role, part = task.status, task.role, task.subgroup
        self.counts[status] = self.counts.get(status, 0) + sign
        if status in READY:
            self.ready_count += sign
        elif status == PENDING and task.best_effort:
            self._idle += sign
        elif status == PIPELINED:
            self._later[role] = self._later.get(role, 0) + sign
            if part is not None:
                self._later_parts[part] = self._later_parts.get(part, 0) + sign
        if status in READY or (status == PENDING and task.best_effort):
            self._met[role] = self._met.get(role, 0) + sign
            if part is not None:
                self._parts[part] = self._parts.get(part, 0) + sign
        if status in HOLDING:
            self.held_count += sign
            for name, amount in task.requests.items():
                self.holding[name] = self.holding.get(name, 0) + sign * amount

    @property
    def is_ready(self) -> bool:
        """Whether enough tasks have room, in all and of each role; those that request nothing always have."""
        if not self.rules.all_or_nothing:
            return True
        return self.has_minimum and self._roles_met(self._met) and self._parts_met(self._parts)

    @property
    def has_minimum(self) -> bool:
        """Whether enough tasks have room, of any role: statuses of groups depend on this number only."""
        return self.ready_count + self._idle >= self.min_member

    @property
    def is_growing(self) -> float | None:
        """The seconds until a gang whose pods are still being created may be reported as unschedulable; None
        if all pods exist, or the creation has taken too long."""
        left = GROWING_SECONDS - self._age
        return left if left > 0 and 0 < len(self.tasks) < self.min_member else None

    @property
    def is_pipelined(self) -> bool:
        """Whether enough tasks have room, or will have it when victims have left."""
        if not self.rules.waits_whole:
            return True
        count = self.ready_count + self._idle + self.counts.get(PIPELINED, 0)
        return (
            count >= self.min_member
            and self._roles_met(total((self._met, self._later)))
            and self._parts_met(Counter(self._parts) + Counter(self._later_parts))
        )

    @property
    def invalid(self) -> Reason | None:
        """Why the gang cannot be complete with any nodes; None if it can."""
        if not self.rules.all_or_nothing:
            return None
        valid = [task for task in self.tasks.values() if task.status in VALID]
        if not self._roles_met(Counter(task.role for task in valid)):
            return Reason("GangInvalid", {"lack": "pods"})
        if not self._parts_met(Counter(task.subgroup for task in valid if task.subgroup is not None)):
            return Reason("GangInvalid", {"lack": "subGroups"})
        if len(valid) < self.min_member:
            return Reason("GangInvalid", {"valid": len(valid), "min": self.min_member})
        return None

    def goes_on(self) -> bool:
        """Whether the gang can still reach its minimum after a task found no node."""
        if self.min_member == len(self.tasks):
            return False
        failed = {self.tasks[uid].role for uid in self.misfits}
        held = Counter(task.role for task in self.tasks.values() if task.status in READY)
        if self._roles_count():
            return not any(held[role] < self.min_roles.get(role, 0) for role in failed)
        hope = sum(
            task.status in READY or (task.status == PENDING and task.role not in failed)
            for task in self.tasks.values()
        )
        return hope >= self.min_member

    def _divide(self, policies: Iterable[Obj]) -> None:
        """Assigns each task to a subgroup of the first policy that selects it."""
        for number, policy in enumerate(policies):
            selector = labels.from_unchecked(policy.get("labelSelector") or {})
            keys = policy.get("matchLabelKeys") or ()
            for task in self.tasks.values():
                own = task.pod.labels
                if task.subgroup is None and selector.matches(own) and all(key in own for key in keys):
                    task.subgroup = number, tuple(own[key] for key in keys)

    def _parts_met(self, found: Mapping[Subgroup, int]) -> bool:
        """Whether enough subgroups are complete."""
        for number, (size, least) in enumerate(self._policies):
            if least and sum(n == number and count >= size for (n, _), count in found.items()) < least:
                return False
        return True

    def _roles_count(self) -> bool:
        """Whether minimums of roles count: only if the gang's own minimum covers their sum."""
        return bool(self.min_roles) and self.min_member >= sum(self.min_roles.values())

    def _roles_met(self, found: Mapping[str, int]) -> bool:
        if not self._roles_count():
            return True
        return all(found.get(role, 0) >= wanted for role, wanted in self.min_roles.items())


@lru_cache(maxsize=1024)
def _minimum(wanted: tuple[tuple[str, object], ...]) -> Amounts:
    """The minimum in resources of nodes, without names for quotas (`count/`, `requests.`). Frozen: gangs with
    equal requests share it."""
    kept = (amounts.CPU, amounts.MEMORY, amounts.STORAGE)
    return {
        name: amounts.number(name, text)
        for name, text in wanted
        if name in kept
        or name.startswith(pod_resources.HUGE_PAGES)
        or (pod_resources.is_extended(name) and not name.startswith(_COUNT))
        if not quantity.is_zero(str(text))
    }
