"""The input of `decide` about a Volcano Job: an immutable snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from longshore.api.types import Obj
from longshore.controllers.volcano import names
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.waking.delays import Delayed
from longshore.controllers.volcano.job.waking.job_requests import JobRequest
from longshore.machinery.work_limits import WorkLimits

Pods = Mapping[str, Mapping[str, Obj]]
"""Pods by task, then by name."""


_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Remembered(NamedTuple):
    """The memory that one sync leaves for the next. A new controller starts without any."""

    delays: Mapping[str, Delayed] = _NONE
    """Delayed actions, by pod name; "" is the Job itself. Never changed, only replaced."""
    known: bool = False
    """Whether changes before the start of this controller were already handled."""
    failures: int = 0
    """Number of refusals in a row."""
    grouped: tuple[Obj, Obj, Mapping[str, int]] | None = None
    """Specs of the Job and its PodGroup, and PriorityClass values, that were found to match."""


NOTHING: Final = Remembered()


class VolcanoJobView(NamedTuple):
    """A Job, its objects, and the requests to it. Objects are frozen."""

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
    """UIDs of pods that this controller has deleted, even if the cache still shows them."""
    requests: tuple[JobRequest, ...] = ()
    """The requests to the Job, in the order they arrived."""
    remembered: Remembered = NOTHING
    unwritten: bool = False
    """Whether changed counters are not written yet."""
    busy: bool = False
    """Whether other Jobs wait for this Job's worker."""
    limits: WorkLimits = WorkLimits()
    """The limits of this process, such as the refusals after which a Job is terminated."""

    def having(self, job: Obj, group: Obj | None) -> VolcanoJobView:
        """Returns this view with the Job and PodGroup as last written."""
        return self._replace(job=job, group=group)

    def is_going(self, pod: Obj) -> bool:
        meta = pod["metadata"]
        return "deletionTimestamp" in meta or meta["uid"] in self.going

    @property
    def group_phase(self) -> str:
        return "" if self.group is None else names.group_phase(self.group)

    @property
    def gate_open(self) -> bool:
        """Whether the PodGroup's phase allows the Job to have pods."""
        return names.opens_gate(self.group_phase)

    def by_index(self, task: Obj) -> tuple[dict[int, Obj], list[Obj]]:
        """Returns the pods of the task by index, and its pods without a valid index."""
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
