"""Keeps the roll of each unfinished Job, and notes which of its pods change.

A roll is built from the cache at the first sync of its Job, and dropped when the Job has ended. In between,
changes are only noted by pod name, and applied at the next sync. So a roll does not change during a sync, and
several changes of one pod cost as much as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.controllers.job.pods.roll import Roll
from longshore.controllers.job.waking import selector_index
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.machinery.informers.informer import Handler


class KeptRoll(msgspec.Struct):
    """The pods that a Job controls, as of its last sync."""

    uid: str
    """The UID of the Job."""
    owned: str
    """The key of the Job's pods in the cache index."""
    matches: Callable[[Mapping[str, str]], bool]
    """Whether the Job's selector, which never changes, matches these labels."""
    roll: Roll = msgspec.field(default_factory=Roll)
    strangers: dict[str, Obj] = msgspec.field(default_factory=dict)
    """The Job's pods that its selector does not match, by name: the Job must release them."""
    changed: dict[str, None] = msgspec.field(default_factory=dict)
    """Names of pods that changed since the last sync, in the order of the first change of each."""

    def adopt(self, pod: Obj) -> None:
        """Adds a pod that the cache does not show as the Job's yet. The next sync looks it up again: if it is
        deleted before the cache shows the adoption, no event names this Job."""
        self.roll.put(pod)
        self.changed[pod["metadata"]["name"]] = None


class Rolls(Handler):
    """Notes changes of pods, by key of the Job."""

    def __init__(self, pods: Cache) -> None:
        self._pods = pods
        self._kept: dict[Key, KeptRoll] = {}

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._note(obj)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._note(new)
        if old["metadata"].get("ownerReferences") != new["metadata"].get("ownerReferences"):
            self._note(old)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._note(obj)

    def _note(self, pod: Obj) -> None:
        if not self._kept:
            return
        ref, meta = controller_of(pod), pod["metadata"]
        if ref is None:
            return
        kept = self._kept.get((meta["namespace"], ref["name"]))
        if kept is not None and kept.uid == ref["uid"]:
            kept.changed[meta["name"]] = None

    def now(self, job: Obj) -> KeptRoll:
        """Returns the Job's pods as the cache shows them now."""
        key, meta = key_of(job), job["metadata"]
        kept = self._kept.get(key)
        if kept is None or kept.uid != meta["uid"]:
            owned, matches = selector_index.owned_key(job), selector_index.matcher(job)
            kept = self._kept[key] = KeptRoll(meta["uid"], owned, matches)
            pods = self._pods.by_index(selector_index.PODS_BY_JOB, owned)
            kept.changed = dict.fromkeys(pod["metadata"]["name"] for pod in pods)
        if kept.changed:
            self._take_in(kept, key[0])
        return kept

    def active_count(self, key: Key) -> int:
        """Returns the number of active pods at the Job's last sync; 0 if there was none."""
        kept = self._kept.get(key)
        return 0 if kept is None else len(kept.roll.active)

    def _take_in(self, kept: KeptRoll, namespace: str) -> None:
        for name in kept.changed:
            pod = self._pods.indexed(selector_index.PODS_BY_JOB, kept.owned, (namespace, name))
            if pod is None:
                kept.roll.remove(name)
                kept.strangers.pop(name, None)
            elif kept.matches(pod["metadata"].get("labels") or {}):
                kept.roll.put(pod)
                kept.strangers.pop(name, None)
            else:
                kept.roll.remove(name)
                kept.strangers[name] = pod
        kept.changed.clear()

    def forget(self, key: Key, uid: str = "") -> None:
        """Forgets the Job of this key; with `uid`, only the Job with that UID."""
        kept = self._kept.get(key)
        if kept is not None and uid in ("", kept.uid):
            del self._kept[key]
