"""Places a gang within a part of the network: each HyperNode that it allows is tried, the nearest first.

Of HyperNodes of one tier the one where the gang is already comes first, then the fullest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from longshore.machinery.reasons import Reason
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import HOLDING, PIPELINED, Task
from longshore.scheduler.gang.model.topology import HyperNode, Wish
from longshore.scheduler.gang.trying.rooms import Room
from longshore.scheduler.gang.trying.trial import Session

Try = Callable[[list[Task]], tuple[list[Task], bool]]
"""Tries tasks in order: those that found room, and whether the gang wants another turn."""


def place(
    session: Session, group: Group, wish: Wish, tasks: list[Task], attempt: Try
) -> tuple[list[Task], bool]:
    """Tries the tasks in every part of the network that will do; takes the first where the gang is ready,
    else the first where it will be when others have left."""
    known = dict(group.misfits)
    parts = [*_parts(session, group, wish)]
    for enough in (session.is_ready, session.keeps_room):
        for name, nodes in parts:
            left = [*tasks]
            group.misfits = dict(known)
            session.rooms.only = nodes
            placed, again = attempt(left)
            session.rooms.only = None
            if placed and enough(group):
                tasks[:] = left
                if name:
                    group.notes.append(Reason("NearEnough", f"is placed within HyperNode {name}"))
                return placed, again
            for task in reversed(placed):
                session.undo(group, task)
    tasks.clear()
    group.notes.append(Reason("NotNearEnough", _said(wish)))
    return [], False


def _parts(session: Session, group: Group, wish: Wish) -> Iterable[tuple[str, frozenset[str] | None]]:
    """The parts of the network to try, by name; the whole of it, last, where near is only a wish."""
    own = _where(group.tasks.values())
    for each in sorted(
        (each for each in session.topology.allowed(wish) if own <= each.nodes),
        key=lambda each: (each.tier, -_fullness(session, each), each.name),
    ):
        yield each.name, each.nodes
    if not wish.strict:
        yield "", None


def home(session: Session, group: Group, task: Task) -> frozenset[str] | None:
    """The nodes where a task of a subgroup may be: in the nearest HyperNode that has room for all of the
    subgroup, and where the others are. None for anywhere; empty for nowhere."""
    wish = group.wish_of(task)
    if wish is None:
        return None
    mates = [each for each in group.tasks.values() if each.subgroup == task.subgroup]
    own = _where(mates)
    waiting = [each for each in mates if not each.node]
    only = session.rooms.only
    for each in session.topology.allowed(wish):
        nodes = each.nodes if only is None else each.nodes & only
        if own <= nodes and _takes(session, nodes, task) >= len(waiting):
            return nodes
    return frozenset() if wish.strict else None


def around(session: Session, group: Group) -> frozenset[str] | None:
    """The nodes where a task that asks for nothing may be: in one HyperNode with the others of its gang.
    None for anywhere."""
    if group.wish is None or not group.wish.strict:
        return None
    own = _where(group.tasks.values())
    return frozenset().union(
        *(each.nodes for each in session.topology.allowed(group.wish) if own <= each.nodes)
    )


def _takes(session: Session, nodes: frozenset[str], task: Task) -> int:
    """How many tasks like this one the free room of nodes would take."""
    return sum(_room_for(room, task) for room in session.rooms if room.node.name in nodes)


def _room_for(room: Room, task: Task) -> int:
    counts = (room.node.left(name) // amount for name, amount in task.requests.items() if amount)
    return max(min(counts, default=1), 0)


def _where(tasks: Iterable[Task]) -> frozenset[str]:
    return frozenset(
        task.node for task in tasks if task.node and (task.status in HOLDING or task.status == PIPELINED)
    )


def _fullness(session: Session, place: HyperNode) -> float:
    """The part of the nodes' resources that is in use, the fullest resource counting."""
    inside = [node for node in session.rooms.nodes if node.name in place.nodes]
    names = {name for node in inside for name in node.used}
    parts = []
    for name in names:
        all_ = sum(node.allocatable.get(name, 0) for node in inside)
        parts.append(sum(node.used.get(name, 0) for node in inside) / all_ if all_ else 0.0)
    return max(parts, default=0.0)


def _said(wish: Wish) -> str:
    if not wish.strict:
        return "no part of the network has room for the whole gang"
    highest = wish.highest_name or f"{wish.highest}"
    return f"no HyperNode of tier {highest} or nearer has room for the whole gang"
