"""The controller's memory between syncs. All of it may be lost: a restarted controller reads
everything again, and only waits shorter than it would have."""

from __future__ import annotations

from longshore.api.facts import job_state
from longshore.controllers.job.view import NO_FAILURES, BackoffRecord
from longshore.controllers.job.waking.rolls import Rolls
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.time.clock import Clock
from longshore.machinery.writes.expectations import Expectations, UidExpectations
from longshore.machinery.writes.own_writes import OwnWrites


class Memory:
    """By key (namespace and name), except where a UID is named."""

    def __init__(self, clock: Clock, jobs: Cache, pods: Cache) -> None:
        self.expectations: Expectations[Key] = Expectations(clock)
        self.going: UidExpectations[Key] = UidExpectations()
        """Pods whose finalizer was removed and which the cache still shows with it."""
        self.own_writes: OwnWrites[Key] = OwnWrites({"jobs.batch": jobs, "pods": pods}, clock)
        self.rolls = Rolls(pods)
        self.finished: set[str] = set()
        """UIDs of Jobs whose end is written and which the cache still shows unfinished."""
        self._jobs = jobs
        self._looked_at: dict[Key, str] = {}
        """UIDs of the Jobs that are remembered and have not ended."""
        self._backoffs: dict[Key, BackoffRecord] = {}
        self.next_starts: dict[Key, float] = {}
        """When each Job with a start interval may start its next pod."""
        self.unanswered: set[Key] = set()
        """Jobs of which a pod may have been created though nobody said so (`unanswered_creates.py`)."""
        self.namespace_going: set[Key] = set()
        """Jobs that were, or would be, refused a pod because their namespace is being deleted. Nobody takes
        that back."""

    def look_at(self, key: Key, uid: str) -> None:
        """A look at the Job begins. Forgets what is remembered of another one that had its name: pods of that
        one are told to nobody any more, so they must not be waited for."""
        if self._looked_at.get(key, uid) != uid:
            self.job_gone(key)
        self._looked_at[key] = uid

    def backoff(self, key: Key) -> BackoffRecord:
        return self._backoffs.get(key, NO_FAILURES)

    def remember_backoff(self, key: Key, record: BackoffRecord) -> None:
        if record.failures:
            self._backoffs[key] = record
        else:
            self._backoffs.pop(key, None)

    def end_written(self, key: Key, uid: str) -> None:
        """The end of the Job is on record; the cache may show it already, or show it later."""
        self._looked_at.pop(key, None)
        self.expectations.forget(key)
        job = self._jobs.get(*key)
        if job is None or job["metadata"]["uid"] != uid or job_state.has_ended(job):
            self.job_ended(key, uid)
        else:
            self.finished.add(uid)

    def job_ended(self, key: Key, uid: str) -> None:
        """The Job is finished, for everyone to see, or deleted: a new one of its name starts afresh."""
        self._backoffs.pop(key, None)
        self.next_starts.pop(key, None)
        self.unanswered.discard(key)
        self.namespace_going.discard(key)
        self.own_writes.forget(key, uid)
        self.rolls.forget(key, uid)
        self.finished.discard(uid)

    def job_gone(self, key: Key) -> None:
        """There is no Job of this name."""
        self._looked_at.pop(key, None)
        self.expectations.forget(key)
        self.going.forget(key)
        self.own_writes.forget(key)
        self.rolls.forget(key)
        self._backoffs.pop(key, None)
        self.next_starts.pop(key, None)
        self.unanswered.discard(key)
        self.namespace_going.discard(key)
