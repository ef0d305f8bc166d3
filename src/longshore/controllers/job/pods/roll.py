"""The roll: a Job's pods grouped by state, updated with each change of a pod.

A sync of a Job with 5,000 active pods of which one has ended costs as much as with 50 (bench/growth.py). So
nothing here iterates over all pods: `put` and `remove` update every number and list that `decide` reads. A
roll depends only on the pods, never on the Job's spec or status, nor on the order of changes; counting.py
decides what an ended pod means. `waking/rolls.py` decides which pods belong to a roll.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from longshore.api import indexes
from longshore.api.facts import pod_state
from longshore.api.indexes import Run
from longshore.api.types import Obj
from longshore.controllers.job.pods import pod_facts

_RESTARTING: Final = ("Running", "Pending")
"""The phases in which restarts count towards the back-off limit."""


class RollEntry(msgspec.Struct):
    """A pod, and the facts read from it when it last changed."""

    pod: Obj
    uid: str
    phase: str
    index: int
    """The completion index, or NO_INDEX."""
    tracked: bool
    """Whether it still has the tracking finalizer."""
    deleting: bool
    ready: bool = False
    """Whether the pod is ready; always False unless it is active."""
    restarts: int = 0

    @property
    def ended(self) -> bool:
        return self.phase in pod_state.ENDED


class Roll(msgspec.Struct):
    """The claimed pods of one Job that have not been counted as ended. Keys are pod names unless noted."""

    entries: dict[str, RollEntry] = msgspec.field(default_factory=dict)
    active: dict[str, Obj] = msgspec.field(default_factory=dict)
    """Pods that have not ended and are not being deleted."""
    active_indexes: dict[int, int] = msgspec.field(default_factory=dict)
    """The number of active pods of each index, including NO_INDEX."""
    active_runs: list[Run] = msgspec.field(default_factory=list)
    """The indexes of active pods as ordered runs."""
    ready: int = 0
    restarts: int = 0
    """Restarts of all containers in pending and running pods."""
    terminating: dict[str, Obj] = msgspec.field(default_factory=dict)
    """Pods being deleted that have not ended, with or without the finalizer."""
    tracked: dict[str, RollEntry] = msgspec.field(default_factory=dict)
    """The pods that have the finalizer, by UID."""
    leaving: dict[str, RollEntry] = msgspec.field(default_factory=dict)
    """The tracked pods that have ended or are being deleted."""
    untracked_failures: dict[str, Obj] = msgspec.field(default_factory=dict)
    """Failed pods without the finalizer."""

    @classmethod
    def of(cls, pods: Iterable[Obj]) -> Roll:
        roll = cls()
        for pod in pods:
            roll.put(pod)
        return roll

    def put(self, pod: Obj) -> None:
        """Adds a pod, or updates one."""
        name: str = pod["metadata"]["name"]
        old = self.entries.get(name)
        new = self.entries[name] = _entry(pod)
        stays_active = False
        if old is not None:
            stays_active = old.index == new.index and name in self.active and not (new.ended or new.deleting)
            self._take_out(name, old, stays_active=stays_active)
        self._sort_in(name, new, stays_active=stays_active)

    def remove(self, name: str) -> None:
        """Removes a pod, if it is on the roll."""
        old = self.entries.pop(name, None)
        if old is not None:
            self._take_out(name, old)

    def one_active_pod_per_index(self, completions: int) -> bool:
        """Whether each active pod has a different index, below `completions`."""
        runs = self.active_runs
        return (
            len(self.active_indexes) == len(self.active)
            and pod_facts.NO_INDEX not in self.active_indexes
            and (not runs or runs[-1][1] < completions)
        )

    def _sort_in(self, name: str, entry: RollEntry, *, stays_active: bool = False) -> None:
        pod = entry.pod
        if entry.ended:
            if not entry.tracked and entry.phase == "Failed":
                self.untracked_failures[name] = pod
        elif entry.deleting:
            self.terminating[name] = pod
        else:
            self.active[name] = pod
            self.ready += entry.ready
            if not stays_active:
                self._count_index(entry.index, 1)
        self.restarts += entry.restarts
        if entry.tracked:
            self.tracked[entry.uid] = entry
            if entry.ended or entry.deleting:
                self.leaving[name] = entry

    def _take_out(self, name: str, entry: RollEntry, *, stays_active: bool = False) -> None:
        """Undoes `_sort_in`. A pod that stays active keeps its position in `active`, and its index."""
        if entry.ended:
            self.untracked_failures.pop(name, None)
        elif entry.deleting:
            del self.terminating[name]
        else:
            self.ready -= entry.ready
            if not stays_active:
                del self.active[name]
                self._count_index(entry.index, -1)
        self.restarts -= entry.restarts
        if entry.tracked:
            del self.tracked[entry.uid]
            self.leaving.pop(name, None)

    def _count_index(self, index: int, change: int) -> None:
        before = self.active_indexes.get(index, 0)
        if before + change:
            self.active_indexes[index] = before + change
        else:
            del self.active_indexes[index]
        if index != pod_facts.NO_INDEX:
            if not before:
                indexes.add(self.active_runs, index)
            elif not before + change:
                indexes.discard(self.active_runs, index)


def _entry(pod: Obj) -> RollEntry:
    meta = pod["metadata"]
    phase, deleting = pod_state.phase_of(pod), "deletionTimestamp" in meta
    entry = RollEntry(pod, meta["uid"], phase, pod_facts.index(pod), pod_facts.tracked(pod), deleting)
    if phase not in pod_state.ENDED and not deleting:
        entry.ready = pod_state.is_ready(pod)
    if phase in _RESTARTING:
        entry.restarts = pod_state.restarts(pod)
    return entry
