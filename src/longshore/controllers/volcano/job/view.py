"""All that `decide` may know of a Volcano Job: one immutable picture of one moment."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from longshore.api.types import Obj
from longshore.controllers.volcano import names
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.waking.delays import Delayed
from longshore.controllers.volcano.job.waking.job_requests import Request
from longshore.machinery.work_limits import WorkLimits

Pods = Mapping[str, Mapping[str, Obj]]
"""By task, then by name."""


_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Remembered(NamedTuple):
    """The memory that one plan leaves for the next. A new controller begins without any."""

    delays: Mapping[str, Delayed] = _NONE
    """Actions that wait, by pod name; "" is the Job itself. Never changed, only replaced."""
    known: bool = False
    """Whether what happened before this controller's time has been looked at."""
    failures: int = 0
    """Refusals in a row."""
    grouped: tuple[Obj, Obj, Mapping[str, int]] | None = None
    """Specs of the Job and of its PodGroup, and values of PriorityClasses, that were found to go together."""


NOTHING: Final = Remembered()


class View(NamedTuple):
    """A Job, what belongs to it, and what it is asked to do. Objects are frozen."""

    job: Obj
    now: float
    """Seconds since 1970."""
    pods: Pods = _NONE
    group: Obj | None = None
    """The Job's PodGroup, unless this controller has deleted it."""
    queue: Obj | None = None
    priorities: Mapping[str, int] = _NONE
    """Values of PriorityClasses by name."""
    going: frozenset[str] = frozenset()
    """UIDs of pods this controller has deleted, whatever the cache still shows."""
    requests: tuple[Request, ...] = ()
    """The requests to the Job, in the order they came."""
    remembered: Remembered = NOTHING
    unwritten: bool = False
    """Whether counters wait to be written."""
    busy: bool = False
    """Whether other Jobs wait for this Job's worker."""
    limits: WorkLimits = WorkLimits()
    """How many refusals are too many."""

    def having(self, job: Obj, group: Obj | None) -> View:
        """The view of the same moment with the latest writes."""
        return self._replace(job=job, group=group)

    def is_going(self, pod: Obj) -> bool:
        meta = pod["metadata"]
        return "deletionTimestamp" in meta or meta["uid"] in self.going

    @property
    def group_phase(self) -> str:
        return "" if self.group is None else names.group_phase(self.group)

    @property
    def gate_open(self) -> bool:
        """Whether the scheduler lets the Job have pods."""
        return names.opens_gate(self.group_phase)

    def by_index(self, task: Obj) -> tuple[dict[int, Obj], list[Obj]]:
        """The pods of the task by their indexes, and those that it should not have."""
        name, replicas, job = task["name"], tasks.replicas(task), self.job["metadata"]["name"]
        found: dict[int, Obj] = {}
        others = []
        for key, pod in self.pods.get(name, {}).items():
            index = names.pod_index(job, name, key)
            if index is not None and index < replicas:
                found[index] = pod
            else:
                others.append(pod)
        return found, others

    def task(self, name: str) -> tuple[Obj | None, list[Obj]]:
        return tasks.find(self.job, name), [*self.pods.get(name, {}).values()]

    def pods_by_name(self) -> dict[str, Obj]:
        return {name: pod for pods in self.pods.values() for name, pod in pods.items()}
