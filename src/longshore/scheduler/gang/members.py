"""Which pods belong to which gang. Pods whose binding failed are excluded for a moment."""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.gang.model.task import group_of


class Members:
    """The pods of all gangs. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        self._of: dict[Key, dict[str, Pod]] = {}
        self._begun: dict[Key, float] = {}
        """When the first pod of each gang was seen."""
        self._blocked: dict[str, float] = {}
        """Until when each pod is excluded, by uid."""

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> Pod | None:
        return self._pods.get(uid)

    def still(self, pod: Obj) -> bool:
        """Stores the latest state of a pod. False if a cycle must see the change: then call `put`."""
        known = self._pods.get(pod["metadata"]["uid"])
        if known is None or known.obj is pod or not _same(known.obj, pod):
            return False
        known.obj = pod
        return True

    def put(self, pod: Pod, now: float) -> tuple[Pod | None, list[Key]]:
        """Adds or replaces a pod. Returns the former one, and the gangs that changed."""
        before = self._pods.get(pod.uid)
        changed = [] if before is None else self._leave(before)
        self._pods[pod.uid] = pod
        key = group_of(pod.obj)
        if key is not None:
            self._of.setdefault(key, {})[pod.uid] = pod
            self._begun.setdefault(key, now)
            changed.append(key)
        return before, changed

    def remove(self, uid: str) -> tuple[Pod | None, list[Key]]:
        """Removes a pod. Returns it if it was known, and the gangs that changed."""
        known = self._pods.pop(uid, None)
        if known is None:
            return None, []
        self._blocked.pop(uid, None)
        return known, self._leave(known)

    def _leave(self, pod: Pod) -> list[Key]:
        key = group_of(pod.obj)
        if key is None or key not in self._of:
            return []
        self._of[key].pop(pod.uid, None)
        if not self._of[key]:
            del self._of[key]
            del self._begun[key]
        return [key]

    def count(self, key: Key) -> int:
        """How many pods a gang has, including excluded ones."""
        return len(self._of.get(key, ()))

    def age(self, key: Key, now: float) -> float:
        """Seconds since the first pod of a gang was seen."""
        return now - self._begun.get(key, now)

    def of(self, key: Key) -> list[Pod]:
        """The pods of a gang, except excluded ones."""
        return [pod for pod in self._of.get(key, {}).values() if pod.uid not in self._blocked]

    def block(self, pod: Pod, until: float) -> None:
        self._blocked[pod.uid] = until

    def unblock(self, now: float) -> list[Key]:
        """Ends exclusions that are over. Returns the gangs that changed."""
        over = [uid for uid, until in self._blocked.items() if until <= now]
        for uid in over:
            del self._blocked[uid]
        keys = (group_of(self._pods[uid].obj) for uid in over if uid in self._pods)
        return [key for key in keys if key is not None]

    def waiting_count(self) -> int:
        """How many pods have no node."""
        return sum(not pod.obj["spec"].get("nodeName") for pod in self._pods.values())


def _same(old: Obj, new: Obj) -> bool:
    """Whether nothing changed that a cycle reads."""
    return (
        old["spec"] == new["spec"]
        and (old.get("status") or {}).get("phase") == (new.get("status") or {}).get("phase")
        and ("deletionTimestamp" in old["metadata"]) == ("deletionTimestamp" in new["metadata"])
        and all(old["metadata"].get(part) == new["metadata"].get(part) for part in ("labels", "annotations"))
    )
