"""Turns changes of groups, queues and priorities into cycles of the gang scheduler: soon, later, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.api.types import Obj
from longshore.machinery.informers.cache import key_of
from longshore.machinery.informers.informer import Handler

if TYPE_CHECKING:
    from longshore.scheduler.gang.scheduler import GangScheduler


class Groups(Handler):
    def __init__(self, scheduler: GangScheduler) -> None:
        self._scheduler = scheduler

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._scheduler.group_seen(obj)
        if self._scheduler.complete(key_of(obj)):
            self._scheduler.pace.arrived()
        else:
            self._scheduler.pace.announced()

    def on_update(self, old: Obj, new: Obj) -> None:
        self._scheduler.group_seen(new)
        if old.get("spec") != new.get("spec"):
            self._scheduler.pace.room()
        elif old.get("status") != new.get("status"):
            self._scheduler.pace.tell()

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._scheduler.group_gone(obj)
        self._scheduler.pace.room()


class Queues(Handler):
    """Requests cycles for changes of queues. Counters change with every gang and cause none."""

    def __init__(self, scheduler: GangScheduler) -> None:
        self._scheduler = scheduler

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._scheduler.pace.room()

    def on_update(self, old: Obj, new: Obj) -> None:
        before, after = old.get("status") or {}, new.get("status") or {}
        if before.get("state") != after.get("state") or old.get("spec") != new.get("spec"):
            self._scheduler.pace.room()
        elif before.get("allocated") != after.get("allocated"):
            self._scheduler.pace.tell()  # if one write has overtaken another


class Priorities(Handler):
    def __init__(self, scheduler: GangScheduler) -> None:
        self._scheduler = scheduler

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._scheduler.priorities_changed()

    def on_update(self, old: Obj, new: Obj) -> None:
        self._scheduler.priorities_changed()
