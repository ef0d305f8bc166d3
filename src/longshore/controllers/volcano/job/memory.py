"""The controller's memory between syncs. All of it may be lost: a restarted controller reads it from the
objects again."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.types import Obj
from longshore.controllers.volcano.job.plan import End
from longshore.controllers.volcano.job.view import NOTHING, Remembered
from longshore.controllers.volcano.job.waking.job_requests import JobRequest
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.time.clock import Clock
from longshore.machinery.writes.own_writes import OwnWrites


class OneJobMemory(msgspec.Struct):
    """The memory about one Job."""

    uid: str
    remembered: Remembered = NOTHING
    """The memory that the last sync left."""
    going: set[str] = msgspec.field(default_factory=set)
    """UIDs of pods that this controller deleted and the cache still shows."""
    groups: set[str] = msgspec.field(default_factory=set)
    """UIDs of PodGroups that this controller deleted."""
    said: dict[str, str] = msgspec.field(default_factory=dict)
    """Phases written by this controller whose watch event has not arrived, each with its resourceVersion,
    which is empty during the write."""
    making: set[str] = msgspec.field(default_factory=set)
    """Names of pods created by this controller whose watch event has not arrived."""
    looks_back: bool = False
    """Whether the next sync handles the Job as if for the first time."""


class VolcanoJobMemory:
    """Memory by key (namespace and name). Requests wait in an inbox in their order, equal ones only once."""

    def __init__(self, clock: Clock, jobs: Cache, pods: Cache, groups: Cache) -> None:
        self.own_writes: OwnWrites[Key] = OwnWrites({"jobs": jobs, "pods": pods, "podgroups": groups}, clock)
        self._jobs: dict[Key, OneJobMemory] = {}
        self._inbox: dict[Key, dict[JobRequest, None]] = {}

    def of(self, key: Key, uid: str) -> OneJobMemory:
        """Returns the memory about this Job. A new UID means a new Job, even under the same name."""
        found = self._jobs.get(key)
        if found is None or found.uid != uid:
            found = self._jobs[key] = OneJobMemory(uid)
            self.own_writes.forget(key)
        if found.looks_back:
            found.looks_back, found.remembered = False, found.remembered._replace(known=False)
        return found

    def forget(self, key: Key) -> None:
        self._jobs.pop(key, None)
        self._inbox.pop(key, None)
        self.own_writes.forget(key)

    def put(self, key: Key, request: JobRequest) -> None:
        self._inbox.setdefault(key, {})[request] = None

    def take(self, key: Key) -> list[JobRequest]:
        return [*self._inbox.pop(key, {})]

    def put_back(self, key: Key, requests: Iterable[JobRequest]) -> None:
        """Puts requests back, in front of newer ones."""
        later = self._inbox.pop(key, {})
        box = dict.fromkeys(requests) | later
        if box:
            self._inbox[key] = box

    def settle(self, key: Key, end: End) -> None:
        """Stores the results of a sync: its memory, and the requests that are left."""
        self._jobs[key].remembered = end.remember
        if end.left:
            self.put_back(key, end.left)

    def waiting(self, key: Key) -> bool:
        return key in self._inbox

    def is_echo(self, key: Key, job: Obj) -> bool:
        """Whether this controller wrote the Job's new phase: the sync that wrote it continues by itself."""
        remembered = self._jobs.get(key)
        if remembered is None or remembered.uid != job["metadata"]["uid"]:
            return False
        version = remembered.said.pop(phase_of(job), None)
        return version is not None and version in ("", job["metadata"]["resourceVersion"])

    def is_expected(self, key: Key, pod: Obj, job_uid: str) -> bool:
        """Whether this controller just created the pod: the sync that created it has counted it."""
        remembered = self._jobs.get(key)
        if remembered is None or remembered.uid != job_uid:
            return False
        name = pod["metadata"]["name"]
        expected = name in remembered.making
        remembered.making.discard(name)
        return expected

    def is_making(self, key: Key) -> bool:
        """Whether watch events of pods created here are still missing."""
        remembered = self._jobs.get(key)
        return remembered is not None and bool(remembered.making)

    def look_back(self, key: Key) -> None:
        """Makes the next sync read all missed changes, and stops waiting for created pods."""
        remembered = self._jobs[key]
        remembered.making.clear()
        remembered.looks_back = True

    def pod_gone(self, key: Key, uid: str) -> None:
        if key in self._jobs:
            self._jobs[key].going.discard(uid)

    def group_gone(self, key: Key, uid: str) -> None:
        if key in self._jobs:
            self._jobs[key].groups.discard(uid)
