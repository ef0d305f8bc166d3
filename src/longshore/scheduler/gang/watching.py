"""Turns changes of groups, queues and priorities into cycles of the gang scheduler: soon, later, or none."""

from __future__ import annotations

from typing import Protocol

from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler
from longshore.scheduler.gang.pacing import Pace


class Watcher(Protocol):
    """The part of the gang scheduler that handlers use."""

    pace: Pace

    def complete(self, key: Key) -> bool: ...

    def group_seen(self, group: Obj) -> None: ...

    def group_gone(self, group: Obj) -> None: ...

    def priorities_changed(self) -> None: ...


class Groups(Handler):
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._watcher.group_seen(obj)
        if self._watcher.complete(key_of(obj)):
            self._watcher.pace.arrived()
        else:
            self._watcher.pace.announced()

    def on_update(self, old: Obj, new: Obj) -> None:
        self._watcher.group_seen(new)
        if old.get("spec") != new.get("spec"):
            self._watcher.pace.room()
        elif old.get("status") != new.get("status"):
            self._watcher.pace.tell()

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._watcher.group_gone(obj)
        self._watcher.pace.room()


class Queues(Handler):
    """Requests cycles for changes of queues. Counters change with every gang and cause none."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._watcher.pace.room()

    def on_update(self, old: Obj, new: Obj) -> None:
        before, after = old.get("status") or {}, new.get("status") or {}
        if before.get("state") != after.get("state") or old.get("spec") != new.get("spec"):
            self._watcher.pace.room()
        elif before.get("allocated") != after.get("allocated"):
            self._watcher.pace.tell()  # should two writes have overtaken each other


class Priorities(Handler):
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._watcher.priorities_changed()

    def on_update(self, old: Obj, new: Obj) -> None:
        self._watcher.priorities_changed()
