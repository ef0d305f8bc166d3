"""The sums of one queue's gangs: amounts on nodes and requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from longshore.scheduler.amounts import Amounts, rest
from longshore.scheduler.gang.model.task import PENDING, RELEASING

if TYPE_CHECKING:
    from longshore.scheduler.gang.model.group import Group


class Sums(msgspec.Struct):
    """Sums over one queue's gangs, without zeros."""

    groups: int = 0
    pods: int = 0
    """The pods that have room on nodes."""
    allocated: Amounts = msgspec.field(default_factory=dict)
    releasing: Amounts = msgspec.field(default_factory=dict)
    request: Amounts = msgspec.field(default_factory=dict)
    elastic: Amounts = msgspec.field(default_factory=dict)
    inqueue: Amounts = msgspec.field(default_factory=dict)
    reserved: Amounts = msgspec.field(default_factory=dict)
    """The amounts promised and not used yet."""

    def copy(self) -> Sums:
        amounts = (self.allocated, self.releasing, self.request, self.elastic, self.inqueue, self.reserved)
        return Sums(self.groups, self.pods, *map(dict, amounts))

    def add(self, group: Group) -> None:
        self._count(group, 1, _add)

    def subtract(self, group: Group) -> None:
        """Undoes `add` for a group that has not changed since."""
        self._count(group, -1, _subtract)

    def _count(self, group: Group, sign: int, put: Callable[[Amounts, Mapping[str, int]], None]) -> None:
        self.groups += sign
        holding = group.holding
        if group.held_count:
            self.pods += sign * group.held_count
            put(self.allocated, holding)
            put(self.request, holding)
        if group.counts.get(PENDING) or group.counts.get(RELEASING):
            for task in group.tasks.values():
                if task.status == PENDING:
                    put(self.request, task.requests)
                elif task.status == RELEASING and task.node:
                    put(self.releasing, task.requests)
        least = group.min_resources
        if least is None:
            return
        if group.held_count:
            put(self.elastic, rest(holding, least))
        least = group.promise or {}
        enough = group.held_count >= group.min_member
        if group.phase == "Inqueue" or (group.phase == "Running" and enough):
            unused = rest(least, holding) if group.held_count else least
            put(self.inqueue, unused)
            put(self.reserved, least if group.phase == "Inqueue" else unused)


def together(one: Mapping[str, Sums], other: Mapping[str, Sums]) -> dict[str, Sums]:
    """The sums of both, by queue."""
    found = {name: sums.copy() for name, sums in one.items()}
    for name, more in other.items():
        sums = found.setdefault(name, Sums())
        sums.groups += more.groups
        sums.pods += more.pods
        for part in ("allocated", "releasing", "request", "elastic", "inqueue", "reserved"):
            _add(getattr(sums, part), getattr(more, part))
    return found


def _add(sums: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        if amount:
            sums[name] = sums.get(name, 0) + amount


def _subtract(sums: Amounts, less: Mapping[str, int]) -> None:
    for name, amount in less.items():
        if amount:
            left = sums[name] - amount
            if left:
                sums[name] = left
            else:
                del sums[name]
