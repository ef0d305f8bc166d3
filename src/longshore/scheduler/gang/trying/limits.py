"""The limits of queues: each gives up to its own limit, and none more than the queues above it."""

from __future__ import annotations

from collections.abc import Mapping

from longshore.scheduler.amounts import Amounts, lacking, total
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.rules.extender import Extender
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.gang.trying import sharing
from longshore.scheduler.gang.trying.branches import QueueTree


class Limits:
    """By `capacity` a queue may have up to its limit, by `proportion` what it deserves, by neither all."""

    def __init__(
        self, queues: Mapping[str, Queue], shares: Plugin | None, extender: Extender | None = None
    ) -> None:
        """An `extender` is asked, too, whether a queue has all that it may have."""
        self._queues, self._extender = queues, extender
        self.tree: QueueTree | None = None
        """Queues with those below them, where that counts."""
        self._borrows = shares is not None and shares.name == "capacity"
        self._overused = shares is not None and shares.speaks_at(plugin_table.OVERUSED)
        self._allocatable = shares is not None and shares.speaks_at(plugin_table.ALLOCATABLE)
        self._preemptive = shares is not None and shares.speaks_at(plugin_table.PREEMPTIVE)

    def most(self, queue: Queue) -> Amounts:
        """All that the queue may have."""
        return queue.limit if self._borrows else queue.deserved

    def may_reclaim(self, queue: Queue, task: Task) -> bool:
        """Whether the queue deserves what a task asks for, so that others have to make way for it."""
        asked = task.requests
        if self._preemptive and self.tree is not None:
            return self.tree.deserves(queue, asked)
        return not self._preemptive or not lacking(total((queue.allocated, asked)), queue.deserved, asked)

    def is_used_up(self, queue: Queue) -> bool:
        """Whether the queue has all that it may have."""
        if self._extender is not None and self._extender.is_overused(queue):
            return True
        if not self._overused:
            return False
        most = self.most(queue)
        return bool(most) and all(amount <= queue.allocated.get(name, 0) for name, amount in most.items())

    def allow(self, queue: Queue, task: Task) -> bool:
        """Whether the queue may give a task what it asks for."""
        if not self._allocatable:
            return True
        asked = task.requests
        beyond: Amounts = {} if task.reserves else asked  # its own room is kept for it
        with_it = total((queue.allocated, queue.reserved, beyond))
        if not queue.open or lacking(with_it, self.most(queue), asked):
            return False
        return all(
            not above.capability
            or not lacking(
                total((self._below(above), beyond)),
                above.capability,
                [n for n in asked if n in above.capability],
            )
            for above in sharing.ancestors(queue, self._queues)
        )

    def allow_now(self, queue: Queue, task: Task) -> bool:
        """Whether a task may be bound now: those on their way out count until they are gone."""
        if not self._allocatable:
            return True
        asked = task.requests
        if lacking(total((queue.allocated, queue.releasing, asked)), queue.limit, asked):
            return False
        return not any(
            lacking(
                total((self._below(above, leaving=True), asked)),
                above.capability,
                [name for name in asked if name in above.capability],
            )
            for above in sharing.ancestors(queue, self._queues)
        )

    def _below(self, above: Queue, *, leaving: bool = False) -> Amounts:
        return total(
            total((queue.allocated, queue.releasing if leaving else queue.reserved))
            for queue in self._queues.values()
            if queue is above or above in sharing.ancestors(queue, self._queues)
        )
