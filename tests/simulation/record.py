"""A record of a run: every change that became visible, in order, and what the machine did."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from longshore.api.types import Obj
from longshore.machinery.time.clock import Clock
from longshore.store import Key, Store
from longshore.store.batch import Batch
from longshore.store.types import EventType
from longshore.testing import ScriptedMachine
from simulation.scenario import Scenario

PODS, JOBS, CRONJOBS = "pods", "batch/jobs", "batch/cronjobs"
GANGS, QUEUES = "batch.volcano.sh/jobs", "scheduling.volcano.sh/queues"
POD_GROUPS, EVENTS, NODES = "scheduling.volcano.sh/podgroups", "events", "nodes"
WORK = (PODS, JOBS, CRONJOBS, GANGS, POD_GROUPS)


class Change(NamedTuple):
    at: float
    """Seconds since the beginning."""
    type: EventType
    key: Key
    obj: Obj
    """The new state; of a deleted object the last one."""
    old: Obj | None


@dataclass
class Record:
    """Of a run that is no scenario `scenario` and `machines` are not known: judges of Jobs need neither."""

    scenario: Scenario = field(default_factory=lambda: Scenario(0, ()))
    machines: dict[str, ScriptedMachine] = field(default_factory=dict)
    """By node."""
    changes: list[Change] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Log records that tell of a bug."""
    acknowledged: list[Obj] = field(default_factory=list)
    """Objects as their creation or change was answered to a person, in order."""
    ended_quietly: bool = False
    """Whether nothing was left to do in the end."""
    stories: dict[str, Obj] = field(default_factory=dict)
    """The stories of what is left, by uid, as `longshore why` tells them in the end."""

    def of(self, storage: str) -> Iterator[Change]:
        return (change for change in self.changes if change.key.storage == storage)

    def last(self, storage: str) -> dict[str, Obj]:
        """The objects that are left, by uid."""
        found: dict[str, Obj] = {}
        for change in self.of(storage):
            uid = change.obj["metadata"]["uid"]
            if change.type == "DELETED":
                found.pop(uid, None)
            else:
                found[uid] = change.obj
        return found

    def at_rest(self, storage: str) -> dict[str, Obj]:
        """The objects that are left, by uid; none if it did not end quietly."""
        return self.last(storage) if self.ended_quietly else {}


class RecordingStore(Store):
    """Tells a record of every change, at the moment it can be seen."""

    record: Record
    clock: Clock

    @classmethod
    def of(cls, record: Record, clock: Clock) -> RecordingStore:
        """A store in memory that tells this record."""
        store = cls.open(None)
        assert isinstance(store, cls)
        store.record, store.clock = record, clock
        return store

    def _durable(self, batch: Batch) -> None:
        super()._durable(batch)
        now = self.clock.monotonic()
        for event in batch.events:
            old = event.previous.obj if event.previous is not None else None
            self.record.changes.append(Change(now, event.type, event.key, event.entry.obj, old))


class BugLog(logging.Handler):
    """Keeps what is logged as an error: a part that failed, a write that could not be made."""

    def __init__(self, record: Record) -> None:
        super().__init__(logging.ERROR)
        self._record = record

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info is not None and record.exc_info[1] is not None:
            text += f": {record.exc_info[1]!r}"
        self._record.failures.append(text)
