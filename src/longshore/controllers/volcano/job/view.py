"""All that a decision may know of a Volcano Job: one immutable picture of one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks

Pods = Mapping[str, Mapping[str, Obj]]
"""By task, then by name."""


def group_phase(group: Obj) -> str:
    phase: str = (group.get("status") or {}).get("phase") or ""
    return phase


def opens_gate(phase: str) -> bool:
    """Whether a Job whose PodGroup is in this phase may have pods."""
    return phase not in ("", "Pending")


@dataclass(frozen=True, slots=True)
class View:
    """A Job and what belongs to it, as the caches show them. Objects are frozen."""

    job: Obj
    now: float
    """Seconds since 1970."""
    pods: Pods = field(default_factory=dict)
    group: Obj | None = None
    """The Job's PodGroup, unless this controller has deleted it."""
    queue: Obj | None = None
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Values of PriorityClasses by name."""
    going: frozenset[str] = frozenset()
    """UIDs of pods this controller has deleted, whatever the cache still shows."""

    def having(self, job: Obj, group: Obj | None) -> View:
        """The same moment with what was just written."""
        return View(job, self.now, self.pods, group, self.queue, self.priorities, self.going)

    def is_going(self, pod: Obj) -> bool:
        meta = pod["metadata"]
        return "deletionTimestamp" in meta or meta["uid"] in self.going

    @property
    def group_phase(self) -> str:
        return "" if self.group is None else group_phase(self.group)

    @property
    def gate_open(self) -> bool:
        """Whether the scheduler lets the Job have pods."""
        return opens_gate(self.group_phase)

    def task(self, name: str) -> tuple[Obj | None, list[Obj]]:
        return tasks.find(self.job, name), [*self.pods.get(name, {}).values()]
