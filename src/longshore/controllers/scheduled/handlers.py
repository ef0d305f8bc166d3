"""Queues CronJobs on changes in the caches. Decides only which CronJob to sync, and when."""

from __future__ import annotations

from collections.abc import Callable

from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.controllers.scheduled.dialect import Dialect
from longshore.controllers.scheduled.memory import CronJobMemory
from longshore.controllers.scheduled.view import ScheduledView
from longshore.machinery.catalogue import Event
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.machinery.informers.informer import Handler
from longshore.machinery.queues.workqueue import WorkQueue


class CronJobHandler(Handler):
    def __init__(
        self,
        dialect: Dialect,
        queue: WorkQueue[Key],
        memory: CronJobMemory,
        observe: Callable[[Obj], ScheduledView],
        tell: Callable[[Obj, Event], None],
    ) -> None:
        self._dialect, self._queue, self._memory = dialect, queue, memory
        self._observe, self._tell = observe, tell

    def on_add(self, obj: Obj, initial: bool) -> None:
        key = key_of(obj)
        if initial:
            self._memory.untold.add(key)
        self._queue.add(key)

    def on_update(self, old: Obj, new: Obj) -> None:
        before, after, key = old["spec"], new["spec"], key_of(new)
        if before["schedule"] == after["schedule"] and before.get("timeZone") == after.get("timeZone"):
            resource = self._dialect.resource(self._dialect.cronjobs)
            if old is new or not self._memory.own_writes.own(key, resource, new):
                self._queue.add(key)
        else:
            self._rescheduled(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._queue.add(key_of(obj))

    def _rescheduled(self, cronjob: Obj) -> None:
        """Queues the CronJob for the next time of its new schedule. Earlier times are not caught up."""
        wait = self._dialect.reschedule(self._observe(cronjob))
        if isinstance(wait, Event):
            self._tell(cronjob, wait)
        else:
            self._queue.add_after(key_of(cronjob), wait)


class JobHandler(Handler):
    def __init__(
        self, dialect: Dialect, queue: WorkQueue[Key], memory: CronJobMemory, cronjobs: Cache
    ) -> None:
        self._dialect, self._queue, self._memory, self._cronjobs = dialect, queue, memory, cronjobs

    def on_add(self, obj: Obj, initial: bool) -> None:
        ref = controller_of(obj)
        if ref is not None:
            key = obj["metadata"]["namespace"], ref["name"]
            if not self._memory.own_writes.own(key, self._dialect.resource(self._dialect.jobs), obj):
                self._wake(obj, ref)

    def on_update(self, old: Obj, new: Obj) -> None:
        before, after = controller_of(old), controller_of(new)
        if before != after:
            self._wake(old, before)
        if before != after or self._dialect.matters(old, new):
            self._wake(new, after)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        ref = controller_of(obj)
        if ref is not None:
            meta = obj["metadata"]
            key, uid = (meta["namespace"], ref["name"]), meta["uid"]
            # The sync that deleted a Job has counted it as gone. Syncs per run of an hourly CronJob: 2
            # instead of 3 (bench/sim.py).
            if not self._memory.job_gone(key, uid) or self._is_active(key, uid):
                self._wake(obj, ref)

    def _is_active(self, key: Key, uid: str) -> bool:
        """Whether the CronJob's active list contains this Job; then it must be corrected."""
        cronjob = self._cronjobs.get(*key)
        active = () if cronjob is None else (cronjob.get("status") or {}).get("active") or ()
        return any(ref.get("uid") == uid for ref in active)

    def _wake(self, job: Obj, ref: Obj | None) -> None:
        """Queues the CronJob that the reference names, if its UID matches."""
        if ref is None or ref["kind"] != "CronJob":
            return
        key = job["metadata"]["namespace"], ref["name"]
        cronjob = self._cronjobs.get(*key)
        if cronjob is not None and cronjob["metadata"]["uid"] == ref["uid"]:
            self._queue.add(key)
