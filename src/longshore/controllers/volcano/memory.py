"""What the controller remembers between visits. All of it may be lost: a new one reads it off the objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from longshore.controllers.volcano.delays import Delays
from longshore.controllers.volcano.requests import Request
from longshore.machinery.cache import Cache, Key
from longshore.machinery.written import Written


@dataclass(slots=True)
class JobMemory:
    """Of one Job, by UID."""

    uid: str
    delays: Delays = field(default_factory=Delays)
    known: bool = False
    """Whether what happened before this controller's time has been looked at."""
    going: set[str] = field(default_factory=set)
    """UIDs of pods deleted here whose end the cache does not show yet."""
    groups: set[str] = field(default_factory=set)
    """UIDs of PodGroups deleted here."""
    failures: int = 0
    """Refusals in a row."""


class Memory:
    """By key, namespace and name. Requests wait in an inbox, equal ones once, in the order they came."""

    def __init__(self, jobs: Cache, pods: Cache, groups: Cache) -> None:
        self.written: Written[Key] = Written({"jobs": jobs, "pods": pods, "podgroups": groups})
        self._jobs: dict[Key, JobMemory] = {}
        self._inbox: dict[Key, dict[Request, None]] = {}

    def of(self, key: Key, uid: str) -> JobMemory:
        """A Job of another UID is another Job, whatever its name."""
        found = self._jobs.get(key)
        if found is None or found.uid != uid:
            found = self._jobs[key] = JobMemory(uid)
            self.written.forget(key)
        return found

    def forget(self, key: Key) -> None:
        self._jobs.pop(key, None)
        self._inbox.pop(key, None)
        self.written.forget(key)

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

    def waiting(self, key: Key) -> bool:
        return key in self._inbox

    def pod_gone(self, key: Key, uid: str) -> None:
        if key in self._jobs:
            self._jobs[key].going.discard(uid)

    def group_gone(self, key: Key, uid: str) -> None:
        if key in self._jobs:
            self._jobs[key].groups.discard(uid)
