"""The limits of queues: a queue may use up to its own limit, and no more than its ancestors allow."""

from __future__ import annotations

from collections.abc import Mapping

from longshore.scheduler.amounts import Amounts, lacking, total
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.queue import Branches, Queue
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.gang.trying.branches import QueueTree


class Limits:
    """With `capacity` a queue may use its limit, with `proportion` its deserved share, else everything."""

    def __init__(self, branches: Branches, shares: Plugin | None) -> None:
        self.branches = branches
        self.tree: QueueTree | None = None
        """The hierarchy of queues; None if it is not configured."""
        self._borrows = shares is not None and shares.name == "capacity"
        self._overused = shares is not None and shares.speaks_at(plugin_table.OVERUSED)
        self._allocatable = shares is not None and shares.speaks_at(plugin_table.ALLOCATABLE)
        self._preemptive = shares is not None and shares.speaks_at(plugin_table.PREEMPTIVE)

    def most(self, queue: Queue) -> Amounts:
        """The most that the queue may have."""
        return queue.limit if self._borrows else queue.most

    def may_reclaim(self, queue: Queue, task: Task) -> bool:
        """Whether a task's requests are within the deserved share of its queue, so that other queues must
        yield."""
        asked = task.requests
        if self._preemptive and self.tree is not None:
            return self.tree.deserves(queue, asked)
        return not self._preemptive or not lacking(total((queue.allocated, asked)), queue.deserved, asked)

    def is_used_up(self, queue: Queue) -> bool:
        """Whether the queue has all that it may have."""
        if not self._overused:
            return False
        most = self.most(queue)
        return bool(most) and all(amount <= queue.allocated.get(name, 0) for name, amount in most.items())

    def allow(self, queue: Queue, task: Task) -> bool:
        """Whether the queue's limits allow a task's requests."""
        if not self._allocatable:
            return True
        asked, branches = task.requests, self.branches
        beyond: Amounts = {} if task.reserves else asked  # its own room is kept for it
        with_it = total((queue.allocated, queue.reserved, beyond))
        if not queue.open or lacking(with_it, self.most(queue), asked):
            return False
        return not any(
            _exceeded(above, asked, total((branches.allocated(above), branches.reserved(above), beyond)))
            for above in branches.above(queue)
        )

    def allow_now(self, queue: Queue, task: Task) -> bool:
        """Whether a task may be bound now. Pods that are being deleted count until they are gone."""
        if not self._allocatable:
            return True
        asked, branches = task.requests, self.branches
        if lacking(total((queue.allocated, queue.releasing, asked)), queue.limit, asked):
            return False
        return not any(
            _exceeded(above, asked, total((branches.allocated(above), branches.releasing(above), asked)))
            for above in branches.above(queue)
        )

    def above_lacks(self, queue: Queue, wanted: Amounts) -> tuple[Queue, list[str]] | None:
        """The nearest ancestor that cannot admit a further gang, and the resources it lacks."""
        for above in self.branches.above(queue):
            if short := _exceeded(above, wanted, total((self.branches.promised(above), wanted))):
                return above, short
        return None


def _exceeded(queue: Queue, asked: Mapping[str, int], amounts: Amounts) -> list[str]:
    """The requested resources whose amounts exceed the queue's capability."""
    return lacking(amounts, queue.capability, [name for name in asked if name in queue.capability])
