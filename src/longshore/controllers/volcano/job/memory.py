"""The controller's memory between visits. All of it may be lost: a new one reads it off the objects."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.types import Obj
from longshore.controllers.volcano.job.plan import End
from longshore.controllers.volcano.job.view import NOTHING, Remembered
from longshore.controllers.volcano.job.waking.job_requests import Request
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.time.clock import Clock
from longshore.machinery.writes.own_writes import OwnWrites, StaleCache


class JobMemory(msgspec.Struct):
    """Of one Job, by UID."""

    uid: str
    remembered: Remembered = NOTHING
    """The memory that the last plan asked for."""
    going: set[str] = msgspec.field(default_factory=set)
    """UIDs of pods deleted here whose end the cache does not show yet."""
    groups: set[str] = msgspec.field(default_factory=set)
    """UIDs of PodGroups deleted here."""
    said: dict[str, str] = msgspec.field(default_factory=dict)
    """Phases written here whose event has not come yet, with the version that each became; empty while the
    write is under way."""
    making: set[str] = msgspec.field(default_factory=set)
    """Names of pods created here whose event has not come yet."""
    looks_back: bool = False
    """Whether the next visit looks at the Job as for the first time."""


class Memory:
    """By key, namespace and name. Requests wait in an inbox, equal ones once, in the order they came."""

    def __init__(self, clock: Clock, jobs: Cache, pods: Cache, groups: Cache) -> None:
        self.own_writes: OwnWrites[Key] = OwnWrites({"jobs": jobs, "pods": pods, "podgroups": groups}, clock)
        self._jobs: dict[Key, JobMemory] = {}
        self._inbox: dict[Key, dict[Request, None]] = {}

    def of(self, key: Key, uid: str) -> JobMemory:
        """A Job of another UID is another Job, whatever its name."""
        found = self._jobs.get(key)
        if found is None or found.uid != uid:
            found = self._jobs[key] = JobMemory(uid)
            self.own_writes.forget(key)
        if found.looks_back:
            found.looks_back, found.remembered = False, found.remembered._replace(known=False)
        return found

    async def caught_up(self, key: Key) -> None:
        """Waits until the caches show what was written for the Job, which they mostly do."""
        try:
            self.own_writes.check(key)
        except StaleCache:
            await self.own_writes.wait(key)

    def forget(self, key: Key) -> None:
        self._jobs.pop(key, None)
        self._inbox.pop(key, None)
        self.own_writes.forget(key)

    def put(self, key: Key, request: Request) -> None:
        self._inbox.setdefault(key, {})[request] = None

    def take(self, key: Key) -> list[Request]:
        return [*self._inbox.pop(key, {})]

    def put_back(self, key: Key, requests: Iterable[Request]) -> None:
        """In front of what came meanwhile."""
        later = self._inbox.pop(key, {})
        box = dict.fromkeys(requests) | later
        if box:
            self._inbox[key] = box

    def settle(self, key: Key, end: End) -> None:
        """Takes over what the last plan of a visit says."""
        self._jobs[key].remembered = end.remember
        if end.left:
            self.put_back(key, end.left)

    def waiting(self, key: Key) -> bool:
        return key in self._inbox

    def is_echo(self, key: Key, job: Obj) -> bool:
        """Whether the Job's new phase is one that was written here: who wrote it looks further by itself."""
        remembered = self._jobs.get(key)
        if remembered is None or remembered.uid != job["metadata"]["uid"]:
            return False
        version = remembered.said.pop(phase_of(job), None)
        return version is not None and version in ("", job["metadata"]["resourceVersion"])

    def is_expected(self, key: Key, pod: Obj, job_uid: str) -> bool:
        """Whether the pod is one just made here: who made it has counted it."""
        remembered = self._jobs.get(key)
        if remembered is None or remembered.uid != job_uid:
            return False
        name = pod["metadata"]["name"]
        expected = name in remembered.making
        remembered.making.discard(name)
        return expected

    def is_making(self, key: Key) -> bool:
        """Whether pods that were made here were not heard of yet."""
        remembered = self._jobs.get(key)
        return remembered is not None and bool(remembered.making)

    def look_back(self, key: Key) -> None:
        """Has the next visit find out what happened, and waits for no pod any more."""
        remembered = self._jobs[key]
        remembered.making.clear()
        remembered.looks_back = True

    def pod_gone(self, key: Key, uid: str) -> None:
        if key in self._jobs:
            self._jobs[key].going.discard(uid)

    def group_gone(self, key: Key, uid: str) -> None:
        if key in self._jobs:
            self._jobs[key].groups.discard(uid)
