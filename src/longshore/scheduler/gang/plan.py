"""The plan of a gang cycle: pods to bind and to remove, and the report of every group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from longshore.api.types import Obj
from longshore.machinery.reasons import Reason
from longshore.scheduler.fitting.pod_claims import Needs
from longshore.scheduler.gang.extender_answers import Question
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import Task


class Bind(msgspec.Struct, frozen=True):
    """A task to bind, and what its claims need first."""

    task: Task
    node: str
    needs: Needs


class Evict(msgspec.Struct, frozen=True):
    """A task to remove, and by which action."""

    task: Task
    group: Group
    action: str


class Event(NamedTuple):
    """An event on a group."""

    group: Group
    type: str
    reason: str
    message: str


class TaskReport(msgspec.Struct, frozen=True):
    """Why one task waits."""

    task: Task
    reason: str
    message: str


class GroupReport(msgspec.Struct):
    """How one group stands after a cycle."""

    group: Group
    status: Obj
    """The whole new status, without times where nothing changed."""
    changed: bool
    waits: str
    """The warning that the group is not scheduled; empty when it is. Only of use if there are tasks."""
    tasks: list[TaskReport] = msgspec.field(default_factory=list)
    why: tuple[Reason, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """The steps and reports of a cycle. Groups and tasks are the cycle's own; nobody changes them."""

    binds: tuple[Bind, ...]
    evictions: tuple[Evict, ...]
    reports: tuple[GroupReport, ...]
    events: tuple[Event, ...]
    allocated: Mapping[str, Mapping[str, str]]
    """The amounts on nodes of each queue's gangs, and of the queues below it, as in `status.allocated`.
    Empty when only the gate was open."""
    ungated: tuple[Task, ...] = ()
    """Tasks that waited for their queue, which has room for them now."""
    shuffles: frozenset[str] = frozenset()
    """The plugins for whose sake tasks are removed, which happens once in a while only."""
    questions: tuple[Question, ...] = ()
    """Questions to an extender. While there are any, the plan is not carried out: it is made again with the
    answers."""
    opening: bytes = b""
    """The document that an extender is told before the first question."""
    why: tuple[Reason, ...] = ()
    """The reasons of the whole cycle; `GroupReport.why` has those of each group."""
    look_again: float | None = None
    """Seconds until a gang has waited so long that it is let in whatever is free, or that its pods should all
    be there; None if there is none."""
