"""Pods that wait for a node, most important first, equal pods grouped.

Pods of one shape and priority get the same answer, so they are one group: if the first of them finds no node,
all of them are parked, and when a change may help, the first is tried again for all. Decides nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator

from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.single.decide import PlacementPlan


class Group:
    """Pods that get the same answer. `plan` is the last answer, while they wait."""

    __slots__ = ("key", "parked", "plan", "pods", "queued", "untold")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.pods: dict[str, Pod] = {}
        """Pods by uid, the one that waits longest first."""
        self.plan: PlacementPlan | None = None
        self.parked = False
        self.queued = False
        self.untold: list[Pod] = []
        """Pods added since the answer was reported."""


class Pending:
    """A queue of groups. A pod is in at most one group."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, Group] = {}
        self._parked: dict[Hashable, Group] = {}
        """The groups that wait for a change."""
        self._of: dict[str, Group] = {}
        self._arrived: dict[str, int] = {}
        self._heap: list[tuple[int, int, int, Group]] = []
        self._count = 0

    def __contains__(self, uid: str) -> bool:
        return uid in self._of

    def __len__(self) -> int:
        return len(self._of)

    @property
    def groups(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def add(self, pod: Pod, key: Hashable) -> Group:
        """Adds the pod as the last of its group. A parked group stays parked: its answer holds for all."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key)
        group.pods[pod.uid] = pod
        group.untold.append(pod)
        self._of[pod.uid] = group
        if pod.uid not in self._arrived:
            self._count += 1
            self._arrived[pod.uid] = self._count
        self._push(group)
        return group

    def group_of(self, uid: str) -> Group | None:
        return self._of.get(uid)

    def get(self, uid: str) -> Pod | None:
        group = self._of.get(uid)
        return None if group is None else group.pods[uid]

    def take_out(self, uid: str, *, forget: bool = True) -> Pod | None:
        """Removes a pod; unless `forget`, it keeps its place for when it is added again."""
        if forget:
            self._arrived.pop(uid, None)
        group = self._of.pop(uid, None)
        if group is None:
            return None
        pod = group.pods.pop(uid)
        if not group.pods:
            del self._groups[group.key]
            self._parked.pop(group.key, None)
        return pod

    def pop(self) -> Group | None:
        """The group to try now; None if all are parked. Return it with `again` or `park`."""
        while self._heap:
            *_, group = heapq.heappop(self._heap)
            group.queued = False
            if group.pods and not group.parked:
                return group
        return None

    def again(self, group: Group) -> None:
        self._push(group)

    def park(self, group: Group, plan: PlacementPlan) -> list[Pod]:
        """Parks the group until a change may help. Returns the pods that need a report of this answer."""
        same = group.plan is not None and group.plan.message == plan.message
        new = group.untold if same else [*group.pods.values()]
        group.parked, group.plan, group.untold = True, plan, []
        self._parked[group.key] = group
        return new

    @property
    def has_due(self) -> bool:
        """Whether a group is to be tried as soon as possible."""
        return any(group.pods and not group.parked for *_, group in self._heap)

    def parks(self, key: Hashable) -> bool:
        """Whether the group of this key is parked."""
        return key in self._parked

    @property
    def has_parked(self) -> bool:
        """Whether a change may help a parked group. Groups that are not parked are tried anyway."""
        return bool(self._parked)

    def wake(self, flags: int) -> None:
        """Unparks the groups that one of these changes may help."""
        for group in [*self._parked.values()]:
            if group.plan is not None and group.plan.wakes & flags:
                self._unpark(group)

    def unpark(self, uid: str) -> None:
        group = self._of.get(uid)
        if group is not None:
            self._unpark(group)

    def _unpark(self, group: Group) -> None:
        group.parked = False
        self._parked.pop(group.key, None)
        self._push(group)

    def _push(self, group: Group) -> None:
        if not group.queued and not group.parked and group.pods:
            uid, pod = next(iter(group.pods.items()))
            group.queued = True
            self._count += 1
            heapq.heappush(self._heap, (-pod.priority, self._arrived[uid], self._count, group))
