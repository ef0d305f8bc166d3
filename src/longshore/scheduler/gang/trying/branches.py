"""Hierarchies of queues: what a whole branch has and deserves, and where the paths of two queues part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.scheduler.amounts import Amounts, lacking, rest, total
from longshore.scheduler.gang.model.queue import Branches, Queue
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
