"""Places a gang within a part of the network: tries each HyperNode that it allows, the lowest tier first.

Within a tier the fullest HyperNode comes first. Those that lack a node of the gang's pods are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from longshore.machinery.reasons import Reason
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import HOLDING, PIPELINED, Task
from longshore.scheduler.gang.model.topology import HyperNode, Wish
from longshore.scheduler.gang.trying.rooms import Room
from longshore.scheduler.gang.trying.trial import Trial

Try = Callable[[list[Task]], tuple[list[Task], bool]]
"""Tries tasks in order. Returns the placed ones, and whether the gang wants another turn."""


def place(trial: Trial, group: Group, wish: Wish, tasks: list[Task], attempt: Try) -> tuple[list[Task], bool]:
    """Tries the tasks in every allowed part of the network. Takes the first part where the gang is ready,
    else the first where it will be ready when victims have left."""
    known = dict(group.misfits)
    parts = [*_parts(trial, group, wish)]
    enough_of: tuple[Callable[[Group], bool], ...] = (lambda gang: gang.is_ready, trial.keeps_room)
    for enough in enough_of:
        for name, nodes in parts:
            left = [*tasks]
            group.misfits = dict(known)
            trial.rooms.only = nodes
            placed, again = attempt(left)
            trial.rooms.only = None
            if placed and enough(group):
                tasks[:] = left
                if name:
                    group.notes.append(Reason("NearEnough", {"hypernode": name}))
                return placed, again
            for task in reversed(placed):
                trial.undo(group, task)
    tasks.clear()
    highest = {"tier": wish.highest_name or f"{wish.highest}"} if wish.strict else {}
    group.notes.append(Reason("NotNearEnough", highest))
    return [], False


def _parts(trial: Trial, group: Group, wish: Wish) -> Iterable[tuple[str, frozenset[str] | None]]:
    """The parts of the network to try, by name; last, if nearness is only a preference, the whole network."""
    own = _where(group.tasks.values())
    for each in sorted(
        (each for each in trial.topology.allowed(wish) if own <= each.nodes),
        key=lambda each: (each.tier, -_fullness(trial, each), each.name),
    ):
        yield each.name, each.nodes
    if not wish.strict:
        yield "", None


def home(trial: Trial, group: Group, task: Task) -> frozenset[str] | None:
    """The nodes for a task of a subgroup: those of the nearest HyperNode that has the placed tasks of the
    subgroup and room for the others. None for any node; empty for no node."""
    wish = group.wish_of(task)
    if wish is None:
        return None
    mates = [each for each in group.tasks.values() if each.subgroup == task.subgroup]
    own = _where(mates)
    waiting = [each for each in mates if not each.node]
    only = trial.rooms.only
    for each in trial.topology.allowed(wish):
        nodes = each.nodes if only is None else each.nodes & only
        if own <= nodes and _takes(trial, nodes, task) >= len(waiting):
            return nodes
    return frozenset() if wish.strict else None


def around(trial: Trial, group: Group) -> frozenset[str] | None:
    """The nodes for a task that requests nothing: those of HyperNodes that contain the gang's placed tasks.
    None for any node."""
    if group.wish is None or not group.wish.strict:
        return None
    own = _where(group.tasks.values())
    return frozenset().union(
        *(each.nodes for each in trial.topology.allowed(group.wish) if own <= each.nodes)
    )


def _takes(trial: Trial, nodes: frozenset[str], task: Task) -> int:
    """How many tasks like this one fit into the free room of these nodes."""
    return sum(_room_for(room, task) for room in trial.rooms if room.node.name in nodes)


def _room_for(room: Room, task: Task) -> int:
    counts = (room.node.left(name) // amount for name, amount in task.requests.items() if amount)
    return max(min(counts, default=1), 0)


def _where(tasks: Iterable[Task]) -> frozenset[str]:
    return frozenset(
        task.node for task in tasks if task.node and (task.status in HOLDING or task.status == PIPELINED)
    )


def _fullness(trial: Trial, place: HyperNode) -> float:
    """The share of the nodes' resources in use, for the resource with the largest share."""
    inside = [node for node in trial.rooms.nodes if node.name in place.nodes]
    names = {name for node in inside for name in node.used}
    parts = []
    for name in names:
        all_ = sum(node.allocatable.get(name, 0) for node in inside)
        parts.append(sum(node.used.get(name, 0) for node in inside) / all_ if all_ else 0.0)
    return max(parts, default=0.0)
