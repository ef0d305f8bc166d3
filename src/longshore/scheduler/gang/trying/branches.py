"""Queues below queues: what a whole branch has and deserves, and where two queues part ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.scheduler.amounts import Amounts, lacking, rest, total
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.trying import sharing

_PATH: Final = "volcano.sh/hierarchy"
_WEIGHTS: Final = "volcano.sh/hierarchy-weights"


class QueueTree:
    """`capacity` with hierarchy: rules hold for every queue above as for the queue itself."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        self._above = {name: sharing.ancestors(queue, queues) for name, queue in queues.items()}
        self._below: dict[str, list[Queue]] = {name: [queue] for name, queue in queues.items()}
        for name, queue in queues.items():
            for above in self._above[name]:
                self._below[above.name].append(queue)
        self._deserved = {name: self._deserve(queue, queues) for name, queue in queues.items()}

    def _deserve(self, queue: Queue, queues: Mapping[str, Queue]) -> Amounts:
        """The amounts that a queue says; of one that says nothing, all that those directly below it say."""
        if queue.wished or not self._children(queue, queues):
            return queue.deserved or queue.wished or queue.guarantee
        return total(self._deserve(child, queues) for child in self._children(queue, queues))

    def _children(self, queue: Queue, queues: Mapping[str, Queue]) -> list[Queue]:
        return [each for each in queues.values() if self._above[each.name][:1] == [queue]]

    def path(self, queue: Queue) -> list[Queue]:
        """From the highest queue above, but for the root, down to the queue."""
        return [*reversed(self._above[queue.name]), queue]

    def allocated(self, queue: Queue) -> Amounts:
        return total(each.allocated for each in self._below[queue.name])

    def promised(self, queue: Queue) -> Amounts:
        """The amounts that the branch has, and that its gangs were let in for."""
        return rest(
            total(part for each in self._below[queue.name] for part in (each.allocated, each.inqueue)),
            total(each.elastic for each in self._below[queue.name]),
        )

    def share(self, queue: Queue) -> float:
        return sharing.share(self.allocated(queue), self._deserved[queue.name])

    def deserves(self, queue: Queue, asked: Mapping[str, int]) -> bool:
        """Whether the branch would have no more than it deserves."""
        deserved = self._deserved[queue.name]
        return not lacking(total((self.allocated(queue), asked)), deserved, asked)

    def makes_way(
        self,
        queue: Queue,
        claiming: Queue,
        asked: Mapping[str, int],
        victim: Mapping[str, int],
        less: Mapping[str, int],
    ) -> bool:
        """Whether a queue makes way for another: below the first queue that both are in, every branch of the
        one has more than it deserves, and every branch of the other would have no more. `less` has been
        taken from the queue already."""
        ours, theirs = self.path(claiming), self.path(queue)
        giving = [each for each in theirs if each not in ours]
        taking = [each for each in ours if each not in theirs]
        return all(self._exceeds(each, less, victim) for each in giving) and all(
            self.deserves(each, asked) for each in taking
        )

    def _exceeds(self, queue: Queue, less: Mapping[str, int], names: Mapping[str, int]) -> bool:
        have, deserved = rest(self.allocated(queue), less), self._deserved[queue.name]
        return any(have.get(name, 0) > deserved.get(name, 0) for name in names)


class WeightedTree:
    """`drf` with hierarchy: queues by their annotations `volcano.sh/hierarchy` and `-weights`."""

    def __init__(self, queues: Mapping[str, Queue], all_: Mapping[str, int]) -> None:
        self._all = all_
        self._paths = {name: _path(queue) for name, queue in queues.items()}
        self._queues = queues

    def place(self, queue: Queue) -> tuple[tuple[float, str], ...]:
        """The queue's place among others: level by level, the branch with the least share for its weight."""
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
    """At least 1, and 1 for anything that is no number. The API takes `nan`, as Volcano's does."""
    try:
        return max(1.0, float(text))  # in this order: a nan is not above 1
    except ValueError:
        return 1.0
