"""Holds parts that projected pods have in common once in memory: a Job's pods differ only in names, UIDs and
versions. A running pod takes 1.7 instead of 5.4 kB, for 4.6 us more when it is read.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from longshore.api import types
from longshore.api.facts import pod_state
from longshore.api.types import Obj

_MAX_PARTS: Final = 4096
"""At this number all are forgotten. Pods keep the parts they have; later pods share new ones."""
_TIMELESS: Final = frozenset(("PodReadyToStartContainers", "Initialized", "ContainersReady", "PodScheduled"))
"""Conditions whose times no rule reads."""
_PARTS: Final = ("labels", "ownerReferences", "finalizers")
_WORDS: Final = ("namespace", "generateName", "creationTimestamp")


class SharedParts:
    """Running pods that became ready in the same second share one status: the conditions in `_TIMELESS` lose
    their times, which no rule reads. The status of a pod that has ended is not shared.
    """

    def __init__(self) -> None:
        self._parts: dict[bytes, Any] = {}

    def share(self, pod: Obj) -> None:
        """Replaces parts of the pod by equal parts of earlier pods."""
        meta = pod.get("metadata") or {}
        for name in _WORDS:
            word = meta.get(name)
            if word:
                meta[name] = sys.intern(word)
        for name in _PARTS:
            part = meta.get(name)
            if part:
                meta[name] = self._one(part)
        spec, status = pod.get("spec"), pod.get("status")
        if spec:
            pod["spec"] = self._one(spec)
        if status:
            for condition in status.get("conditions") or ():
                if condition.get("type") in _TIMELESS:
                    condition.pop("lastTransitionTime", None)
            if pod_state.phase_of(pod) not in pod_state.ENDED:
                pod["status"] = self._status(status)

    def _one(self, part: Any) -> Any:
        """The known part that equals this one; if there is none, this one, known from now on."""
        return self._room().setdefault(types.encode(part), part)

    def _status(self, status: Obj) -> Obj:
        """The first status equal to this one. A new status shares its conditions and container statuses."""
        key = types.encode(status)
        known: Obj | None = self._room().get(key)
        if known is not None:
            return known
        for name in ("conditions", "containerStatuses"):
            if status.get(name):
                status[name] = [*map(self._one, status[name])]
        self._parts[key] = status
        return status

    def _room(self) -> dict[bytes, Any]:
        if len(self._parts) >= _MAX_PARTS:
            self._parts.clear()
        return self._parts
