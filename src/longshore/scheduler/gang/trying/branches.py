"""Limits and hierarchies of queues: what a whole branch has, deserves and may use, and where the paths of two
queues part. A queue may use up to its own limit, and no more than its ancestors allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.scheduler.amounts import Amounts, lacking, rest, total
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.queue import Branches, Queue
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.gang.trying import sharing

_PATH: Final = "volcano.sh/hierarchy"
_WEIGHTS: Final = "volcano.sh/hierarchy-weights"


class QueueTree:
    """`capacity` with hierarchy: rules apply to every ancestor as to the queue itself."""

    def __init__(self, branches: Branches) -> None:
        self._branches = branches
        self._deserved = {name: self._deserve(queue) for name, queue in branches.queues.items()}

    def _deserve(self, queue: Queue) -> Amounts:
        """The amounts that a queue deserves by its spec; without any, the sum of its children's."""
        children = self._branches.children(queue)
        if queue.wished or not children:
            return queue.deserved or queue.wished or queue.guarantee
        return total(self._deserve(child) for child in children)

    def path(self, queue: Queue) -> list[Queue]:
        """The path from the topmost ancestor below the root down to the queue."""
        return [*reversed(self._branches.above(queue)), queue]

    def share(self, queue: Queue) -> float:
        return sharing.share(self._branches.allocated(queue), self._deserved[queue.name])

    def deserves(self, queue: Queue, asked: Mapping[str, int]) -> bool:
        """Whether the branch would have no more than it deserves with `asked` added."""
        deserved = self._deserved[queue.name]
        return not lacking(total((self._branches.allocated(queue), asked)), deserved, asked)

    def makes_way(
        self,
        queue: Queue,
        claiming: Queue,
        asked: Mapping[str, int],
        victim: Mapping[str, int],
        less: Mapping[str, int],
    ) -> bool:
        """Whether a queue yields to another one. Below their nearest common ancestor, every branch of the
        queue must have more than it deserves, and every branch of the other must stay within what it
        deserves. `less` was taken from the queue already."""
        ours, theirs = self.path(claiming), self.path(queue)
        giving = [each for each in theirs if each not in ours]
        taking = [each for each in ours if each not in theirs]
        return all(self._exceeds(each, less, victim) for each in giving) and all(
            self.deserves(each, asked) for each in taking
        )

    def _exceeds(self, queue: Queue, less: Mapping[str, int], names: Mapping[str, int]) -> bool:
        have, deserved = rest(self._branches.allocated(queue), less), self._deserved[queue.name]
        return any(have.get(name, 0) > deserved.get(name, 0) for name in names)


class WeightedTree:
    """`drf` with hierarchy: by the queues' annotations `volcano.sh/hierarchy` and `-weights`."""

    def __init__(self, queues: Mapping[str, Queue], all_: Mapping[str, int]) -> None:
        self._all = all_
        self._paths = {name: _path(queue) for name, queue in queues.items()}
        self._queues = queues

    def place(self, queue: Queue) -> tuple[tuple[float, str], ...]:
        """The sort key of a queue: level by level, the branch with the smallest share per weight is first."""
        found: list[tuple[float, str]] = []
        path = self._paths[queue.name]
        for depth in range(1, len(path)):
            names = [name for name, _ in path[: depth + 1]]
            branch = [
                self._queues[other].allocated
                for other, its in self._paths.items()
                if [name for name, _ in its[: depth + 1]] == names
            ]
            found.append((sharing.share(total(branch), self._all) / path[depth][1], names[-1]))
        return tuple(found)


def _path(queue: Queue) -> list[tuple[str, float]]:
    notes = queue.obj["metadata"].get("annotations") or {}
    names = str(notes.get(_PATH) or f"root/{queue.name}").split("/")
    weights = str(notes.get(_WEIGHTS) or "").split("/")
    return [(name, _weight(weights[n]) if n < len(weights) else 1.0) for n, name in enumerate(names)]


def _weight(text: str) -> float:
    """The weight, at least 1; 1 for a text that is no number. The API accepts `nan`, as Volcano's does."""
    try:
        return max(1.0, float(text))  # in this order: a nan is not above 1
    except ValueError:
        return 1.0


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
