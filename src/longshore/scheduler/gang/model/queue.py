"""A queue within one cycle: what it may have, deserves and has. Changed only by the cycle.

Hierarchies of queues are `Branches`.
"""

from __future__ import annotations

from collections.abc import Mapping

from longshore.api.types import Obj
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts, rest, total


class Queue:
    """A queue with the amounts that a cycle computes for it."""

    def __init__(self, obj: Obj) -> None:
        spec = obj.get("spec") or {}
        self.obj, self.name = obj, str(obj["metadata"]["name"])
        self.weight: int = spec.get("weight") or 1
        self.priority: int = spec.get("priority") or 0
        self.parent: str = spec.get("parent") or ""
        self.capability = amounts.parse(spec.get("capability"))
        self.guarantee = amounts.parse((spec.get("guarantee") or {}).get("resource"))
        self.wished = amounts.parse(spec.get("deserved"))
        self.reclaimable: bool = spec.get("reclaimable") is not False
        self.open = ((obj.get("status") or {}).get("state") or "Open") == "Open"
        self.created: str = obj["metadata"]["creationTimestamp"]
        self.deserved: Amounts = {}
        """The share of the queue: below it, other queues yield to the queue; above it, the queue yields."""
        self.most: Amounts = {}
        """The most that the queue gets when queues share by weight."""
        self.limit: Amounts = {}
        """The most that the queue may have in total, independent of other queues."""
        self.allocated: Amounts = {}
        self.releasing: Amounts = {}
        """The amounts of tasks that are being deleted."""
        self.reserved: Amounts = {}
        """The amounts of tasks without a node for which the queue already had room in an earlier cycle."""
        self.request: Amounts = {}
        self.inqueue: Amounts = {}
        self.elastic: Amounts = {}


class Branches:
    """Queues with their ancestors and descendants."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        self.queues = queues
        self._above = {name: _above(queue, queues) for name, queue in queues.items()}
        self._below: dict[str, list[Queue]] = {name: [queue] for name, queue in queues.items()}
        for name, queue in queues.items():
            for above in self._above[name]:
                self._below[above.name].append(queue)

    def above(self, queue: Queue) -> list[Queue]:
        """The ancestors of a queue, nearest first, without the root."""
        return self._above[queue.name]

    def children(self, queue: Queue | None) -> list[Queue]:
        """The children of a queue; for None, the queues directly below the root."""
        if queue is None:
            return [each for each in self.queues.values() if not self.above(each)]
        return [each for each in self._below[queue.name] if self.above(each)[:1] == [queue]]

    def allocated(self, queue: Queue) -> Amounts:
        """The amounts that the queue and its descendants have."""
        return total(each.allocated for each in self._below[queue.name])

    def releasing(self, queue: Queue) -> Amounts:
        return total(each.releasing for each in self._below[queue.name])

    def reserved(self, queue: Queue) -> Amounts:
        return total(each.reserved for each in self._below[queue.name])

    def promised(self, queue: Queue) -> Amounts:
        """The amounts that the branch has or has promised to admitted gangs."""
        return rest(
            total(part for each in self._below[queue.name] for part in (each.allocated, each.inqueue)),
            total(each.elastic for each in self._below[queue.name]),
        )


def _above(queue: Queue, queues: Mapping[str, Queue]) -> list[Queue]:
    """The ancestors of a queue. Queues in a circle of parents, which the API allows, have none."""
    found: list[Queue] = []
    parent = queues.get(queue.parent)
    while parent is not None and parent.name != "root" and parent not in found:
        if parent is queue:
            return []
        found.append(parent)
        parent = queues.get(parent.parent)
    return found
