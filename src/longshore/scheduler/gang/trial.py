"""One cycle's copy of the cluster, on which gangs are tried. What does not work out is taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from longshore.api.facts import conditions
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts
from longshore.scheduler.fitting import filters, pod_claims
from longshore.scheduler.fitting.filters import Context
from longshore.scheduler.fitting.pod_claims import Needs
from longshore.scheduler.fitting.pod_shape import Shape
from longshore.scheduler.fitting.verdict import Refusal
from longshore.scheduler.gang import sharing
from longshore.scheduler.gang.model import (
    ALLOCATED,
    BINDING,
    PENDING,
    PIPELINED,
    RELEASING,
    Group,
    Queue,
    Task,
    lacking,
    total,
)
from longshore.scheduler.gang.settings import Settings
from longshore.scheduler.gang.sharing import Sums
from longshore.scheduler.ledger import Node
from longshore.scheduler.single import scoring
from longshore.scheduler.single.decide import View

_FULL: Final = "Too many pods"
_CROWDED: Final = "node(s) pod number exceeded"
"""Volcano's words for it."""
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_NONE: Final[Mapping[str, Sums]] = {}


@dataclass(frozen=True, slots=True)
class Bind:
    """A task to bind, and what its claims need first."""

    task: Task
    node: str
    needs: Needs


@dataclass(frozen=True, slots=True)
class Evict:
    """A task to remove, and by which action."""

    task: Task
    group: Group
    action: str


@dataclass(slots=True)
class Room:
    """A node in this cycle: what those leaving will free, and what is promised of it."""

    node: Node
    releasing: Amounts = field(default_factory=dict)
    pipelined: Amounts = field(default_factory=dict)

    def future(self, name: str) -> int:
        return self.node.left(name) + self.releasing.get(name, 0) - self.pipelined.get(name, 0)


class Stand(NamedTuple):
    """What a node says to tasks of one shape that depend on nothing but the node."""

    problems: tuple[str, ...]
    later: bool
    """Whether it has the room only when others have left."""
    score: float
    """Where nothing but resources counts."""


Place: TypeAlias = tuple[int, bool, float, float, str, str]
"""Where a gang stands among others; no two stand in the same one."""


class Session:
    """Groups and queues of one cycle. Only groups whose queue exists are here."""

    def __init__(
        self,
        view: View,
        groups: Iterable[Group],
        queues: Mapping[str, Queue],
        settings: Settings,
        now: float,
        settled: Mapping[str, Sums] = _NONE,
    ) -> None:
        """`settled` are gangs that are nobody's concern here but for what they have, by queue."""
        self.view, self.settings, self.queues, self.now = view, settings, queues, now
        self.groups = {group.uid: group for group in groups if group.queue in queues}
        self.binds: list[Bind] = []
        self.evictions: list[Evict] = []
        self.events: list[tuple[Group, str, str, str]] = []
        """Group, type, reason and message."""
        nodes = self._nodes = [node for node in view.ledger if not _arriving(node)]
        self.total = total(node.allocatable for node in nodes)
        self.used = total(node.used for node in nodes)
        self._shared = {name: amount for name, amount in self.total.items() if name != amounts.PODS}
        self.settled = settled
        self.reserved = sharing.fill(
            queues, self.groups.values(), self.total, by_weight=not settings.capacity, settled=settled
        )
        """What was promised to gangs before and is not used yet."""
        self._stands: dict[Shape, dict[str, Stand]] = {}
        self._indifferent = True
        """Whether no pod on the nodes has any affinity; known once there are rooms."""

    @cached_property
    def rooms(self) -> dict[str, Room]:
        """The nodes, to try things on. Most cycles have nothing to try."""
        found: dict[str, Room] = {}
        for node in self._nodes:
            room = found[node.name] = Room(node.copy())
            for pod in node.pods.values():
                if "deletionTimestamp" in pod.obj["metadata"]:
                    room.releasing = total((room.releasing, pod.shape.requests))
                if pod.shape.affinity is not None:
                    self._indifferent = False
        return found

    # ---- order

    def queue_order(self, queue: Queue) -> tuple[int, float, str, str]:
        return -queue.priority, sharing.share(queue.allocated, queue.deserved), queue.created, queue.name

    def group_order(self, group: Group) -> Place:
        deadline = group.deadline if group.deadline is not None else float("inf")
        return -group.priority, group.is_ready, deadline, self.share_of(group), group.created, group.uid

    def share_of(self, group: Group) -> float:
        """The group's dominant share of the cluster."""
        return sharing.share(group.holding, self._shared) if group.holding else 0.0

    # ---- queues

    def overused(self, queue: Queue) -> bool:
        """Whether the queue has all it deserves; one that may borrow has when it reached its limit."""
        most = queue.limit if self.settings.capacity else queue.deserved
        return bool(most) and all(amount <= queue.allocated.get(name, 0) for name, amount in most.items())

    def allocatable(self, queue: Queue, task: Task) -> bool:
        """Whether the queue may give a task what it asks for."""
        most = queue.limit if self.settings.capacity else queue.deserved
        asked = task.requests
        with_it = total((queue.allocated, asked))
        if not queue.open or lacking(with_it, most, asked):
            return False
        return all(
            not above.capability
            or not lacking(
                total((self._below(above), asked)),
                above.capability,
                [n for n in asked if n in above.capability],
            )
            for above in sharing.ancestors(queue, self.queues)
        )

    def within_limits(self, queue: Queue, task: Task) -> bool:
        """Whether a task may be bound now: those on their way out count until they are gone."""
        asked = task.requests
        if lacking(total((queue.allocated, queue.releasing, asked)), queue.limit, asked):
            return False
        return not any(
            lacking(
                total((self._below(above, leaving=True), asked)),
                above.capability,
                [name for name in asked if name in above.capability],
            )
            for above in sharing.ancestors(queue, self.queues)
        )

    def _below(self, above: Queue, *, leaving: bool = False) -> Amounts:
        return total(
            total((queue.allocated, queue.releasing)) if leaving else queue.allocated
            for queue in self.queues.values()
            if queue is above or above in sharing.ancestors(queue, self.queues)
        )

    # ---- nodes

    def context(self, task: Task) -> Context | Refusal:
        nodes = [room.node for room in self.rooms.values()]
        return filters.prepare(task.pod, self.view.ledger, self.view.volumes, self.view.namespaces, nodes)

    def candidates(self, task: Task) -> tuple[list[Room], list[Room], str]:
        """Nodes with room now, nodes that will have it, and what all nodes said if there are none."""
        context = self.context(task)
        if isinstance(context, Refusal):
            return [], [], f"0/{len(self.rooms)} nodes are unavailable: {context.reason}."
        now: list[Room] = []
        later: list[Room] = []
        reasons: Counter[str] = Counter()
        found = self._found_for(task.pod.shape) if context.is_plain else {}
        for name, room in self.rooms.items():
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
        return now, later, f"0/{len(self.rooms)} nodes are unavailable: {told}."

    def _found_for(self, shape: Shape) -> dict[str, Stand]:
        """How the nodes stand to tasks of a shape, as far as that still holds, by name."""
        found = self._stands.get(shape)
        if found is None:
            found = self._stands[shape] = {}
        return found

    def _stand(self, task: Task, room: Room, context: Context) -> Stand:
        problems = self._objections(task, room, context)
        left = room.node.left
        later = not problems and any(amount > left(name) for name, amount in task.requests.items())
        score = scoring.by_resources(task.pod, room.node) + _packed(task, room.node) if not problems else 0.0
        return Stand(problems, later, score)

    def _changes(self, room: Room) -> None:
        """What was found out about a node does not hold any more."""
        for found in self._stands.values():
            found.pop(room.node.name, None)

    def _objections(self, task: Task, room: Room, context: Context) -> tuple[str, ...]:
        """Resources first, as Volcano does, then everything else."""
        requests = task.requests
        if any(amount > room.future(name) for name, amount in requests.items()):
            future = {name: room.future(name) for name in requests}
            return tuple(f"Insufficient {name}" for name in lacking(requests, future, requests))
        failure = filters.check(task.pod, room.node, context)
        if failure is None:
            return ()
        reasons = tuple(
            _CROWDED if reason == _FULL else reason
            for reason in failure.reasons
            if not reason.startswith("Insufficient ")  # room enough once others have left
        )
        return reasons

    def best(self, task: Task, rooms: list[Room]) -> Room:
        """By Volcano's scores: like the scheduler of single pods, and fuller nodes before emptier ones."""
        if len(rooms) == 1:
            return rooms[0]
        nodes, shape = [room.node for room in rooms], task.pod.shape
        if self._indifferent and scoring.only_resources_count(shape, nodes):
            found = self._stands.get(shape, {})
            if all(node.name in found for node in nodes):
                return max(rooms, key=lambda room: found[room.node.name].score)
        scored = scoring.scores(task.pod, nodes, self.view.namespaces, indifferent=self._indifferent)
        return max(rooms, key=lambda room: scored[room.node.name] + _packed(task, room.node))

    # ---- trying

    def allocate(self, group: Group, task: Task, room: Room) -> None:
        """Room that is there now."""
        group.move(task, ALLOCATED)
        task.node = room.node.name
        room.node.add(task.pod)
        self._changes(room)
        if task.pod.shape.affinity is not None:
            self._indifferent = False
        self._charge(group, task, 1)

    def pipeline(self, group: Group, task: Task, room: Room) -> None:
        """Room that others will leave."""
        group.move(task, PIPELINED)
        task.node = room.node.name
        room.pipelined = total((room.pipelined, task.requests))
        self._changes(room)
        self._charge(group, task, 1)

    def undo(self, group: Group, task: Task) -> None:
        """Takes a trial back; what was possible is remembered for the report."""
        room = self.rooms[task.node]
        task.possible = task.status, task.node
        if task.status == PIPELINED:
            room.pipelined = {n: a - task.requests.get(n, 0) for n, a in room.pipelined.items()}
        else:
            room.node.remove(task.pod)
        self._changes(room)
        group.move(task, PENDING)
        task.node = ""
        self._charge(group, task, -1)

    def commit(self, group: Group, tasks: Iterable[Task]) -> None:
        """Those of the tasks that have room now are bound."""
        for task in tasks:
            if task.status != ALLOCATED:
                continue
            context = self.context(task)
            needs = context.needs if isinstance(context, Context) else pod_claims.NOTHING
            self.binds.append(Bind(task, task.node, needs))
            group.move(task, BINDING)

    def evict(self, group: Group, task: Task) -> None:
        """In thought: the task leaves its node."""
        room = self.rooms[task.node]
        room.releasing = total((room.releasing, task.requests))
        self._changes(room)
        queue = self.queues[group.queue]
        queue.releasing = total((queue.releasing, task.requests))
        self._charge(group, task, -1)
        group.move(task, RELEASING)

    def unevict(self, group: Group, task: Task, status: str) -> None:
        room = self.rooms[task.node]
        room.releasing = {n: a - task.requests.get(n, 0) for n, a in room.releasing.items()}
        self._changes(room)
        queue = self.queues[group.queue]
        queue.releasing = {n: a - task.requests.get(n, 0) for n, a in queue.releasing.items()}
        group.move(task, status)
        self._charge(group, task, 1)

    def _charge(self, group: Group, task: Task, sign: int) -> None:
        queue = self.queues[group.queue]
        for name, amount in task.requests.items():
            queue.allocated[name] = queue.allocated.get(name, 0) + sign * amount


def _packed(task: Task, node: Node) -> float:
    """100 for a node that the task fills, less for emptier ones; 0 where it would not fit."""
    parts = []
    for name, amount in task.requests.items():
        all_ = node.allocatable.get(name, 0)
        with_it = node.used.get(name, 0) + amount
        if not all_ or with_it > all_:
            return 0.0
        parts.append(with_it / all_)
    return 100.0 * sum(parts) / len(parts) if parts else 0.0


def _arriving(node: Node) -> bool:
    """A node that says it is ready and still has the taint every new node comes with. It is about to lose
    it, and to count it as one that refuses pods would be news for a moment only."""
    ready = conditions.holds(node.obj or {}, "Ready")
    return ready and not node.pods and any(taint.get("key") == _NOT_READY for taint in node.taints)
