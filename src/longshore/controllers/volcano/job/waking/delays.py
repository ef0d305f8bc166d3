"""Delayed actions: when each is due, and what cancels it. Pure.

There is one per pod of a Job, and one for the Job itself. There are no timers here: the Job's worker checks
what is due, so that delayed actions keep the order of all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

import msgspec

from longshore.api.types import Obj
from longshore.controllers.volcano import names
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.waking.job_requests import JobRequest
from longshore.machinery.reasons import Reason

TRACELESS: Final = (names.POD_EVICTED, names.UNKNOWN)
"""Events whose cause cannot be read from any object afterwards."""


class Delayed(msgspec.Struct, frozen=True):
    request: JobRequest
    action: str
    due: float
    """Seconds since 1970."""


class Delays:
    """The delayed actions of one Job during a sync. Starts as a copy of `entries`."""

    def __init__(self, entries: Mapping[str, Delayed]) -> None:
        self.entries: dict[str, Delayed] = dict(entries)
        """Delayed actions by pod name; "" is the Job itself."""

    def __bool__(self) -> bool:
        return bool(self.entries)

    def register(self, new: Delayed) -> bool:
        """Adds a delayed action; returns whether it was added. An equal action that already waits stays,
        unless it waits for the start of an earlier pod of that name."""
        old = self.entries.get(new.request.pod)
        same_pod = old is not None and (
            old.request.pod_uid == new.request.pod_uid or old.request.event != names.POD_PENDING
        )
        if old is not None and same_pod and old.action == new.action:
            return False
        self.entries[new.request.pod] = new
        return True

    def prune(self, pods: Mapping[str, Obj]) -> list[Reason]:
        """Cancels actions that the state of the pods makes pointless; returns the reasons.

        An action for a pending pod is cancelled when the pod has started, ended or gone. An action for a
        failure or an eviction is cancelled once a pod of that name runs."""
        said = []
        for name, entry in [*self.entries.items()]:
            pod, event = pods.get(name), entry.request.event
            if event == names.POD_PENDING:
                same = pod is not None and pod["metadata"]["uid"] == entry.request.pod_uid
                over = not same or pod is None or tasks.phase(pod) not in ("", "Pending")
            else:
                over = (
                    event in (names.POD_FAILED, names.POD_EVICTED)
                    and pod is not None
                    and tasks.phase(pod) == "Running"
                )
            if over:
                del self.entries[name]
                numbers = {"action": entry.action, "event": event, "pod": name}
                said.append(Reason("DelayedActionCancelled", numbers))
        return said

    def done(self, action: str, request: JobRequest) -> None:
        """Removes the delayed actions that `action`, now carried out, covers."""
        level = _level(action, request)
        for pod, entry in [*self.entries.items()]:
            if _level(entry.action, entry.request) == level:
                del self.entries[pod]

    def due(self, now: float) -> list[Delayed]:
        """Returns the delayed actions that are due, the earliest first. Each stays until it is done."""
        return sorted((e for e in self.entries.values() if e.due <= now), key=lambda e: e.due)

    def forget(self, entry: Delayed) -> None:
        if self.entries.get(entry.request.pod) is entry:
            del self.entries[entry.request.pod]

    def next(self) -> float | None:
        return min((entry.due for entry in self.entries.values()), default=None)

    def traceless(self, uids: Set[str]) -> list[Delayed]:
        """Returns the delayed actions that could not be derived again from the pods with these UIDs."""
        return [
            entry
            for entry in self.entries.values()
            if entry.request.event in TRACELESS
            or (entry.request.event != names.POD_PENDING and entry.request.pod_uid not in uids)
        ]


def _level(action: str, request: JobRequest) -> tuple[str, ...]:
    """Returns the target of an action. Actions with the same target cover each other."""
    if action == names.RESTART_TASK:
        return ("task", request.task)
    if action == names.RESTART_POD:
        return ("pod", request.task, request.pod)
    if action == names.RESTART_PARTITION:
        return ("partition", request.task, request.partition)
    return ("job",)
