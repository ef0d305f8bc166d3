"""All that a cycle of the gang scheduler sees: gangs, queues, the cluster, the moment. Nobody changes it.

Deciding makes groups and queues of its own of it. As plain data (`SavedCycle`) a cycle can be saved, logged
and compared, and `restored` gives one that the same is decided on again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from longshore.api.types import Obj
from longshore.scheduler import view as views
from longshore.scheduler.fitting.pod_shape import Pod, Shapes
from longshore.scheduler.gang.extender_answers import Answer, Question
from longshore.scheduler.gang.model.sums import Sums
from longshore.scheduler.gang.rules.node_usage import Load
from longshore.scheduler.gang.settings import Settings
from longshore.scheduler.view import Snapshot, View

_OLD: Final = float("inf")


class Member(NamedTuple):
    """A pod of a gang, its status in Volcano's words, and the node where it counts."""

    pod: Pod
    status: str
    node: str


class SeenGroup(NamedTuple):
    """A PodGroup with its pods."""

    obj: Obj
    status: Obj
    """The status as it was written last, which the object may not show yet."""
    members: tuple[Member, ...]
    priority: int
    deadline: float | None = None
    """When it is let in whatever is free, in seconds since 1970."""
    age: float = _OLD
    """Seconds since its first pod was seen."""


class Cycle(msgspec.Struct, frozen=True):
    """The view at the beginning of a cycle."""

    view: View
    groups: tuple[SeenGroup, ...]
    queues: tuple[Obj, ...]
    settings: Settings
    uid: str
    """Names the cycle in conditions."""
    now: float
    time: str
    """The moment of the cycle, as objects write it."""
    settled: Mapping[str, Sums] = msgspec.field(default_factory=dict)
    """The amounts of settled gangs, which need no decision, by queue."""
    hyper_nodes: tuple[Obj, ...] = ()
    """The network between nodes."""
    quotas: tuple[Obj, ...] = ()
    awaited: tuple[Obj, ...] = ()
    """The groups that were let in and have no pods yet, where quotas count."""
    shuffled: Mapping[str, float] = msgspec.field(default_factory=dict)
    """When the action `shuffle` last did what a plugin asks for, by plugin, in seconds since 1970."""
    loads: Mapping[str, Load] = msgspec.field(default_factory=dict)
    """The measured use of nodes."""
    gate: bool = False
    """Whether it is only about groups that have no pods yet, and nothing is said of the others."""
    answers: Mapping[Question, Answer] = msgspec.field(default_factory=dict)
    """The answers of an extender to what was asked while this cycle was decided before."""


class SavedMember(msgspec.Struct, frozen=True):
    pod: Obj
    status: str
    node: str


class SavedGroup(msgspec.Struct, frozen=True):
    obj: Obj
    status: Obj
    members: list[SavedMember]
    priority: int
    deadline: float | None
    age: float | None
    """None for a gang whose pods are long known."""


class SavedCycle(msgspec.Struct, frozen=True):
    """A cycle as plain data. Fields as of `Cycle`."""

    cluster: Snapshot
    groups: list[SavedGroup]
    queues: list[Obj]
    settings: Settings
    uid: str
    now: float
    time: str
    settled: dict[str, Sums]
    hyper_nodes: list[Obj]
    quotas: list[Obj]
    awaited: list[Obj]
    shuffled: dict[str, float]
    loads: dict[str, Load]
    gate: bool
    answers: list[tuple[Question, Answer]]


def saved(cycle: Cycle) -> SavedCycle:
    pods = [member.pod for group in cycle.groups for member in group.members]
    return SavedCycle(
        views.snapshot(cycle.view, pods),
        [_saved_group(group) for group in cycle.groups],
        [*cycle.queues],
        cycle.settings,
        cycle.uid,
        cycle.now,
        cycle.time,
        dict(cycle.settled),
        [*cycle.hyper_nodes],
        [*cycle.quotas],
        [*cycle.awaited],
        dict(cycle.shuffled),
        dict(cycle.loads),
        cycle.gate,
        [*cycle.answers.items()],
    )


def _saved_group(group: SeenGroup) -> SavedGroup:
    members = [SavedMember(member.pod.obj, member.status, member.node) for member in group.members]
    age = group.age if group.age < _OLD else None
    return SavedGroup(group.obj, group.status, members, group.priority, group.deadline, age)


def restored(data: SavedCycle, shapes: Shapes) -> Cycle:
    """A cycle that sees what was saved."""
    return Cycle(
        views.restored(data.cluster, shapes),
        tuple(_seen_group(group, shapes) for group in data.groups),
        tuple(data.queues),
        data.settings,
        data.uid,
        data.now,
        data.time,
        data.settled,
        tuple(data.hyper_nodes),
        tuple(data.quotas),
        tuple(data.awaited),
        data.shuffled,
        data.loads,
        data.gate,
        dict(data.answers),
    )


def _seen_group(group: SavedGroup, shapes: Shapes) -> SeenGroup:
    members = (Member(shapes.pod(each.pod), each.status, each.node) for each in group.members)
    age = _OLD if group.age is None else group.age
    return SeenGroup(group.obj, group.status, tuple(members), group.priority, group.deadline, age)
