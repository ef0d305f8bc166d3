"""Copies of the nodes for one cycle, on which tasks are tried without effect on the ledger.

The answers of nodes for tasks of one shape are cached until the node changes.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import msgspec

from longshore.api.facts import conditions
from longshore.api.facts.taints import NOT_READY
from longshore.scheduler.amounts import Amounts, lacking, total
from longshore.scheduler.fitting import filters
from longshore.scheduler.fitting.filters import Context
from longshore.scheduler.fitting.pod_shape import Shape
from longshore.scheduler.fitting.verdict import Refusal
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.settings import Settings
from longshore.scheduler.gang.trying.node_scores import NodeRules, NodeScores
from longshore.scheduler.ledger import Node
from longshore.scheduler.single import scoring
from longshore.scheduler.view import SchedulerView

Rank: TypeAlias = tuple[float, int]
"""The sort key of a node: higher scores first; of equal scores, the node known first."""
_FULL: Final = "Too many pods"
_CROWDED: Final = "node(s) pod number exceeded"
"""Volcano's words for `_FULL`."""
_FAR: Final = "node(s) too far from the rest of the gang"


class Ranking:
    """Nodes by name that have room for tasks of one shape now, the best first.

    A cycle that places a thousand tasks on a hundred nodes asks for the best node a thousand times, and each
    time one node has changed. So the nodes are in a heap, and only changed ones are scored again. `score`
    returns a node's present score; None if it has no room.
    """

    def __init__(self, names: Iterable[str], score: Callable[[str], float | None]) -> None:
        self._score = score
        self._numbers = {name: number for number, name in enumerate(names)}
        self._ranks: dict[str, Rank] = {}
        self._heap: list[tuple[Rank, str]] = []
        self._changed = [*self._numbers]

    def changed(self, name: str) -> None:
        """Marks a node to be scored again."""
        self._changed.append(name)

    def best(self) -> str | None:
        """The name of the best node; None if none has room."""
        ranks, heap = self._ranks, self._heap
        for name in self._changed:
            score = self._score(name)
            if score is None:
                ranks.pop(name, None)
            else:
                rank = ranks[name] = -score, self._numbers[name]
                heapq.heappush(heap, (rank, name))
        self._changed.clear()
        while heap:
            rank, name = heap[0]
            if ranks.get(name) == rank:
                return name
            heapq.heappop(heap)  # an older score of the node
        return None


class Room(msgspec.Struct):
    """A node in this cycle: amounts that pods being removed will free, and amounts promised to tasks."""

    node: Node
    releasing: Amounts = msgspec.field(default_factory=dict)
    pipelined: Amounts = msgspec.field(default_factory=dict)

    def future(self, name: str) -> int:
        return self.node.left(name) + self.releasing.get(name, 0) - self.pipelined.get(name, 0)


class Stand(NamedTuple):
    """A node's answer to tasks of one shape, if it depends on the node alone."""

    problems: tuple[str, ...]
    later: bool
    """Whether there is room only once other pods have left."""
    score: float
    """The score of the node if only resources count."""


class Rooms:
    """All nodes of the view that take part. Iterating yields their rooms."""

    def __init__(self, view: SchedulerView, settings: Settings, rules: NodeRules) -> None:
        self._view, self._rules = view, rules
        self._settings = settings
        self.only: frozenset[str] | None = None
        """The nodes on which tasks may be tried at present; None for all."""
        self.nodes: Sequence[Node] = [node for node in view.ledger if not _arriving(node)]
        """The real nodes, unchanged by trials."""
        self._stands: dict[Shape, dict[str, Stand]] = {}
        self._rankings: dict[Shape, Ranking] = {}
        self._refusals: dict[Shape, str] = {}
        """By shape, the message if no node has room now or later."""
        self._indifferent = True
        """Whether no pod on the nodes has an affinity. Set when `_rooms` is made."""

    @cached_property
    def _scores(self) -> NodeScores:
        return NodeScores(self._settings)

    @cached_property
    def _rooms(self) -> dict[str, Room]:
        """The rooms by name. Made on demand, since most cycles try nothing."""
        found: dict[str, Room] = {}
        for node in self.nodes:
            room = found[node.name] = Room(node.copy())
            for pod in node.pods.values():
                if "deletionTimestamp" in pod.obj["metadata"]:
                    room.releasing = total((room.releasing, pod.shape.requests))
                if pod.shape.affinity is not None:
                    self._indifferent = False
        return found

    def __iter__(self) -> Iterator[Room]:
        return iter(self._rooms.values())

    # ---- what nodes say

    def context(self, task: Task, nodes: Iterable[Node] | None = None) -> Context | Refusal:
        """The facts about a task that do not depend on a single node. `nodes` replace the cycle's nodes."""
        nodes = (room.node for room in self._rooms.values()) if nodes is None else nodes
        return filters.prepare(task.pod, self._view, nodes, without=self._settings.left_out)

    def candidates(
        self, task: Task, home: frozenset[str] | None = None
    ) -> tuple[list[Room], list[Room], str]:
        """Nodes with room now, nodes that will have room, and the reasons of all nodes if there are none.
        `home` are the nodes allowed for the task; None for all."""
        context = self.context(task)
        if isinstance(context, Refusal):
            return [], [], f"0/{len(self._rooms)} nodes are unavailable: {context.reason}."
        now: list[Room] = []
        later: list[Room] = []
        reasons: Counter[str] = Counter()
        shape, alike = task.pod.shape, context.is_plain and not self._rules
        anywhere = alike and self.only is None and home is None
        if anywhere and (said := self._refusals.get(shape)) is not None:
            return now, later, said
        found = self._found_for(shape) if alike else {}
        for name, room in self._rooms.items():
            if (self.only is not None and name not in self.only) or (home is not None and name not in home):
                reasons[_FAR] += 1
                continue
            stand = found.get(name)
            if stand is None:
                stand = found[name] = self._stand(task, room, context)
            if stand.problems:
                reasons.update(stand.problems)
            elif stand.later:
                later.append(room)
            else:
                now.append(room)
        if now or later:
            return now, later, ""
        told = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        said = f"0/{len(self._rooms)} nodes are unavailable: {told}."
        if anywhere:
            self._refusals[shape] = said
        return now, later, said

    def best_now(self, task: Task) -> Room | None:
        """The node that `candidates` and `best` would choose among all with room now. None if there is none,
        or if only those two can decide."""
        shape = task.pod.shape
        if self.only is not None or self._rules or shape.preferred or shape.uses_labels:
            return None
        rooms = self._rooms
        if not self._indifferent or not self._untainted:
            return None
        context = self.context(task)
        if isinstance(context, Refusal) or not context.is_plain:
            return None
        ranking = self._rankings.get(shape)
        if ranking is None:
            ranking = self._rankings[shape] = Ranking(
                rooms, lambda name: self._score_now(task, rooms[name], context)
            )
        name = ranking.best()
        return None if name is None else rooms[name]

    @cached_property
    def _untainted(self) -> bool:
        return not any(node.taints for node in self.nodes)

    def _score_now(self, task: Task, room: Room, context: Context) -> float | None:
        """The score of a node for tasks that depend on the node alone; None if it has no room now."""
        found, name = self._found_for(task.pod.shape), room.node.name
        stand = found.get(name)
        if stand is None:
            stand = found[name] = self._stand(task, room, context)
        return None if stand.problems or stand.later else stand.score

    def _found_for(self, shape: Shape) -> dict[str, Stand]:
        """The cached answers of nodes for tasks of a shape, by name."""
        found = self._stands.get(shape)
        if found is None:
            found = self._stands[shape] = {}
        return found

    def _stand(self, task: Task, room: Room, context: Context) -> Stand:
        problems = self._objections(task, room, context)
        left = room.node.left
        later = not problems and any(amount > left(name) for name, amount in task.requests.items())
        score = self._scores.by_resources(task, room.node) if not problems else 0.0
        return Stand(problems, later, score)

    def _changes(self, room: Room) -> None:
        """Drops the cached answers of a node that has changed."""
        name = room.node.name
        for found in self._stands.values():
            found.pop(name, None)
        for ranking in self._rankings.values():
            ranking.changed(name)
        self._refusals.clear()

    def _objections(self, task: Task, room: Room, context: Context) -> tuple[str, ...]:
        """Why a task does not fit a node: resources first, as in Volcano, then all other filters."""
        requests = task.requests
        if any(amount > room.future(name) for name, amount in requests.items()):
            future = {name: room.future(name) for name in requests}
            return tuple(f"Insufficient {name}" for name in lacking(requests, future, requests))
        if self._rules and (problem := self._rules.problem(task, room.node)):
            return (problem,)
        failure = filters.check(task.pod, room.node, context)
        if failure is None:
            return ()
        reasons = tuple(
            _CROWDED if reason == _FULL else reason
            for reason in failure.reasons
            if not reason.startswith("Insufficient ")  # enough room once other pods have left
        )
        return reasons

    def admits(self, task: Task, room: Room) -> bool:
        """Whether no plugin's filter keeps a task off a node, regardless of room."""
        return not self._rules or not self._rules.problem(task, room.node)

    def best(self, task: Task, rooms: list[Room]) -> Room:
        """The room with the highest total score of all plugins."""
        if len(rooms) == 1:
            return rooms[0]
        nodes, shape = [room.node for room in rooms], task.pod.shape
        plain = self._indifferent and not self._rules
        if plain and scoring.only_resources_count(shape, nodes):
            found = self._stands.get(shape, {})
            if all(node.name in found for node in nodes):
                return max(rooms, key=lambda room: found[room.node.name].score)
        scored = self._scores.of(task, nodes, self._view.namespaces, indifferent=self._indifferent)
        for node in nodes if self._rules else ():
            scored[node.name] += self._rules.score(task, node)
        return max(rooms, key=lambda room: scored[room.node.name])

    # ---- what is tried

    def add(self, task: Task, room: Room) -> None:
        """Places the task on the node."""
        room.node.add(task.pod)
        self._changes(room)
        if task.pod.shape.affinity is not None:
            self._indifferent = False

    def remove(self, task: Task) -> None:
        """Removes the task that was placed for trial."""
        room = self._rooms[task.node]
        room.node.remove(task.pod)
        self._changes(room)

    def promise(self, task: Task, room: Room) -> None:
        """Promises room to the task that other pods will leave."""
        room.pipelined = total((room.pipelined, task.requests))
        self._changes(room)

    def take_back(self, task: Task) -> None:
        room = self._rooms[task.node]
        room.pipelined = {n: a - task.requests.get(n, 0) for n, a in room.pipelined.items()}
        self._changes(room)

    def release(self, task: Task) -> None:
        """Counts the task's amounts as being released."""
        room = self._rooms[task.node]
        room.releasing = total((room.releasing, task.requests))
        self._changes(room)

    def keep(self, task: Task) -> None:
        """Undoes `release`."""
        room = self._rooms[task.node]
        room.releasing = {n: a - task.requests.get(n, 0) for n, a in room.releasing.items()}
        self._changes(room)


def _arriving(node: Node) -> bool:
    """Whether a node is ready but still has the taint of new nodes. The taint is about to be removed, so a
    report that the node does not fit would soon be wrong."""
    ready = conditions.holds(node.obj or {}, "Ready")
    return ready and not node.pods and any(taint.get("key") == NOT_READY for taint in node.taints)
