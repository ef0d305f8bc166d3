"""The plan of a gang cycle: pods to bind and to remove, and the report of every group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from longshore.api.types import Obj
from longshore.machinery.catalogue import Event
from longshore.machinery.reasons import Reason
from longshore.scheduler.fitting.pod_claims import Needs
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import Task


class Bind(msgspec.Struct, frozen=True):
    """A task to bind, and the claims that it needs first."""

    task: Task
    node: str
    needs: Needs


class Evict(msgspec.Struct, frozen=True):
    """A task to evict, and the action that evicts it."""

    task: Task
    group: Group
    action: str


class Refusal(NamedTuple):
    """A gang that is not admitted in this cycle, with the Event that says why."""

    group: Group
    event: Event


class TaskReport(msgspec.Struct, frozen=True):
    """Why one task waits."""

    task: Task
    reason: str
    message: str


class GroupReport(msgspec.Struct):
    """The status of one group after a cycle."""

    group: Group
    status: Obj
    """The whole new status; unchanged conditions keep their times."""
    changed: bool
    waits: str
    """The warning that the group is not scheduled; empty if it is. Used only if the group has tasks."""
    tasks: list[TaskReport] = msgspec.field(default_factory=list)
    why: tuple[Reason, ...] = ()


class GangPlan(msgspec.Struct, frozen=True):
    """The steps and reports of a cycle. Groups and tasks are the cycle's own and are not changed any more."""

    binds: tuple[Bind, ...]
    evictions: tuple[Evict, ...]
    reports: tuple[GroupReport, ...]
    refusals: tuple[Refusal, ...]
    allocated: Mapping[str, Mapping[str, str]]
    """By queue, what its gangs and those below it have on nodes, as in `status.allocated`. Empty if only the
    gate ran."""
    ungated: tuple[Task, ...] = ()
    """Tasks gated by their queue, which has room for them now."""
    shuffles: frozenset[str] = frozenset()
    """The plugins for which tasks are evicted, each at most once in its period."""
    why: tuple[Reason, ...] = ()
    """The reasons of the whole cycle; `GroupReport.why` has those of each group."""
    look_again: float | None = None
    """Seconds until a gang reaches its deadline for admission, or should have all its pods; None if no gang
    does."""
