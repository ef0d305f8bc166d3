"""The controller's memory between syncs. All of it may be lost: a restarted controller reads everything
again, and at worst waits less than it should."""

from __future__ import annotations

from longshore.api.facts import job_state
from longshore.api.types import Obj
from longshore.controllers.job.view import NO_FAILURES, BackoffRecord
from longshore.controllers.job.waking.rolls import Rolls
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.time.clock import Clock
from longshore.machinery.writes.expectations import Expectations, UidExpectations
from longshore.machinery.writes.own_writes import OwnWrites


class JobMemory:
    """Memory by key (namespace and name) or, where noted, by UID."""

    def __init__(self, clock: Clock, jobs: Cache, pods: Cache) -> None:
        self.expectations: Expectations[Key] = Expectations(clock)
        self.going: UidExpectations[Key] = UidExpectations()
        """Pods whose finalizer was removed while the cache still shows it."""
        self.own_writes: OwnWrites[Key] = OwnWrites({"jobs.batch": jobs, "pods": pods}, clock)
        self.rolls = Rolls(pods)
        self.finished: set[str] = set()
        """UIDs of Jobs whose end is written but not yet in the cache."""
        self._jobs = jobs
        self._looked_at: dict[Key, str] = {}
        """UIDs of the unfinished Jobs that this memory holds, by key."""
        self._backoffs: dict[Key, BackoffRecord] = {}
        self._unanswered_backoffs: dict[Key, tuple[Obj, BackoffRecord]] = {}
        """Statuses whose write got no answer, each with the back-off that holds if the write took place."""
        self.next_starts: dict[Key, float] = {}
        """When each Job with a start interval may start its next pod, in seconds since 1970."""
        self.unanswered: set[Key] = set()
        """Jobs with a create request that got no answer, so the pod may exist (`unanswered_creates.py`)."""
        self.namespace_going: set[Key] = set()
        """Jobs whose namespace is being deleted, which is irreversible: it refuses new pods."""

    def look_at(self, key: Key, uid: str) -> None:
        """Starts a sync of the Job. If another Job had its name before, forgets that one: its pods send no
        events to this Job, so they must not be waited for."""
        if self._looked_at.get(key, uid) != uid:
            self.job_gone(key)
        self._looked_at[key] = uid

    def backoff(self, key: Key, status: Obj) -> BackoffRecord:
        """Returns the back-off that belongs to this status, even if the write of the status got no answer."""
        written, record = self._unanswered_backoffs.get(key, (None, NO_FAILURES))
        if written == status:
            self.remember_backoff(key, record)
        return self._backoffs.get(key, NO_FAILURES)

    def expect_backoff(self, key: Key, status: Obj, record: BackoffRecord) -> None:
        """Notes the back-off that holds once this status is written, also if no answer comes."""
        if record != self._backoffs.get(key, NO_FAILURES):
            self._unanswered_backoffs[key] = status, record

    def remember_backoff(self, key: Key, record: BackoffRecord) -> None:
        self._unanswered_backoffs.pop(key, None)
        if record != NO_FAILURES:
            self._backoffs[key] = record
        else:
            self._backoffs.pop(key, None)

    def end_written(self, key: Key, uid: str) -> None:
        """Notes that the end of the Job is written; the cache may show it now or later."""
        self._looked_at.pop(key, None)
        self.expectations.forget(key)
        job = self._jobs.get(*key)
        if job is None or job["metadata"]["uid"] != uid or job_state.has_ended(job):
            self.job_ended(key, uid)
        else:
            self.finished.add(uid)

    def job_ended(self, key: Key, uid: str) -> None:
        """Forgets a Job whose end the cache shows, or which was deleted."""
        self.remember_backoff(key, NO_FAILURES)
        self.next_starts.pop(key, None)
        self.unanswered.discard(key)
        self.namespace_going.discard(key)
        self.own_writes.forget(key, uid)
        self.rolls.forget(key, uid)
        self.finished.discard(uid)

    def job_gone(self, key: Key) -> None:
        """Forgets all about a Job of this name: it does not exist."""
        self._looked_at.pop(key, None)
        self.expectations.forget(key)
        self.going.forget(key)
        self.own_writes.forget(key)
        self.rolls.forget(key)
        self.remember_backoff(key, NO_FAILURES)
        self.next_starts.pop(key, None)
        self.unanswered.discard(key)
        self.namespace_going.discard(key)
