"""The controller's memory between syncs. All of it may be lost: a restarted controller reads it again."""

from __future__ import annotations

from longshore.controllers.scheduled.dialect import Dialect
from longshore.controllers.scheduled.view import Ask
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.time.clock import Clock
from longshore.machinery.writes.expectations import UidExpectations
from longshore.machinery.writes.own_writes import OwnWrites


class CronJobMemory:
    """Memory by key (namespace and name) of the CronJob."""

    def __init__(self, dialect: Dialect, clock: Clock, cronjobs: Cache, jobs: Cache) -> None:
        self.untold: set[Key] = set()
        """CronJobs that were not synced since the last outage."""
        self.strangers: dict[Key, frozenset[str]] = {}
        """UIDs of running Jobs that are not on the active list and were reported by an event."""
        self.doubted: set[Key] = set()
        """CronJobs whose last sync failed. Their cached state may be outdated."""
        self._jobs = jobs
        self._going: UidExpectations[Key] = UidExpectations()
        self.own_writes: OwnWrites[Key] = OwnWrites(
            {dialect.resource(dialect.cronjobs): cronjobs, dialect.resource(dialect.jobs): jobs}, clock
        )

    def deleted(self, key: Key, ask: Ask) -> None:
        """Remembers that a Job was deleted, until the cache shows it."""
        cached = self._jobs.get(key[0], ask.name)
        if cached is not None and cached["metadata"]["uid"] == ask.uid:
            self._going.expect(key, (ask.uid,))

    def going(self, key: Key) -> frozenset[str]:
        return frozenset(self._going.uids(key))

    def job_gone(self, key: Key, uid: str) -> bool:
        """Notes that the cache no longer shows the Job. Returns whether this controller deleted it."""
        was_going = uid in self._going.uids(key)
        self._going.observed(key, uid)
        return was_going

    def forget(self, key: Key) -> None:
        """Forgets all about a CronJob of this name: it does not exist."""
        self.untold.discard(key)
        self.doubted.discard(key)
        self.strangers.pop(key, None)
        self._going.forget(key)
        self.own_writes.forget(key)
