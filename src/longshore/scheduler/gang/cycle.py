"""The view of one cycle of the gang scheduler: gangs, queues, the cluster, the time. Never changed: a
decision makes its own groups and queues from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from longshore.api.types import Obj
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.gang.model.sums import Sums
from longshore.scheduler.gang.settings import Settings
from longshore.scheduler.view import SchedulerView

_OLD: Final = float("inf")


class Member(NamedTuple):
    """A pod of a gang, its status in Volcano's words, and the node on which it counts."""

    pod: Pod
    status: str
    node: str


class SeenGroup(NamedTuple):
    """A PodGroup with its pods."""

    obj: Obj
    status: Obj
    """The status as last written, which the object may not show yet."""
    members: tuple[Member, ...]
    priority: int
    deadline: float | None = None
    """When the group is admitted regardless of free resources, in seconds since 1970."""
    age: float = _OLD
    """Seconds since the first pod of the group was seen."""


class Load(NamedTuple):
    """The amounts that a node uses, in the units of `amounts.py`, and when they were measured."""

    cpu: int
    memory: int
    at: float


class Cycle(msgspec.Struct, frozen=True):
    """The view at the beginning of a cycle."""

    view: SchedulerView
    groups: tuple[SeenGroup, ...]
    queues: tuple[Obj, ...]
    settings: Settings
    uid: str
    """The id of the cycle in conditions."""
    now: float
    time: str
    """The time of the cycle in RFC 3339."""
    settled: Mapping[str, Sums] = msgspec.field(default_factory=dict)
    """The amounts of settled gangs, which need no decision, by queue."""
    hyper_nodes: tuple[Obj, ...] = ()
    """The HyperNodes, which describe the network between nodes."""
    quotas: tuple[Obj, ...] = ()
    awaited: tuple[Obj, ...] = ()
    """The groups that were admitted and have no pods yet; only if quotas count."""
    shuffled: Mapping[str, float] = msgspec.field(default_factory=dict)
    """When the action `shuffle` last ran for each plugin, in seconds since 1970."""
    loads: Mapping[str, Load] = msgspec.field(default_factory=dict)
    """The measured use of each node."""
    gate: bool = False
    """Whether the cycle only concerns groups without pods, and reports on no others."""
