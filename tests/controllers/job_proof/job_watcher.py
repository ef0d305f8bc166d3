"""Watches a Job and its pods: notes what must never be seen, and keeps books of what each pod counts as.

A pod is entered in the books when its finalizer goes: from then on nobody can count it.
"""

from __future__ import annotations

import asyncio
from collections import deque

from longshore.api import indexes
from longshore.api.types import Obj
from longshore.testing.scripted_kubelet import TRACKING
from support.job_world import JOBS, NS, PODS, World

_REACTION_SECONDS = 1.0
"""For so long pods may be created by a parallelism that was lowered meanwhile."""
_VERDICTS = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")


class Watcher:
    """`run` beside a story; then look at `wrong` and `books`."""

    def __init__(self, world: World) -> None:
        self.wrong: list[str] = []
        self.books: dict[str, str] = {}
        """What each pod counts as, by UID: succeeded or failed; and what counts nowhere: ignored by the
        podFailurePolicy, spared (killed because enough had succeeded), released (surplus, or suspended)."""
        self.job: Obj = {}
        self._world = world
        self._parallelism: deque[tuple[float, int]] = deque()
        self._active: set[str] = set()
        self._deleted: dict[str, str] = {}
        """When pods were deleted: after the Job had succeeded, or before."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_jobs())
            tasks.create_task(self._follow_pods())

    async def _follow_jobs(self) -> None:
        async with self._world.client.watch(JOBS, NS, initial_events=True) as events:
            async for event in events:
                if event.type != "BOOKMARK":
                    self._job_changed(self.job, event.object)
                    self.job = event.object

    async def _follow_pods(self) -> None:
        async with self._world.client.watch(PODS, NS, initial_events=True) as events:
            async for event in events:
                if event.type != "BOOKMARK":
                    self._pod_changed(event.type, event.object)

    def _job_changed(self, old: Obj, new: Obj) -> None:
        self._parallelism.append((self._world.clock.monotonic(), new["spec"]["parallelism"]))
        was, now = old.get("status") or {}, new.get("status") or {}
        for verdict in _verdicts(was) - _verdicts(now):
            self.wrong.append(f"{verdict} was revised: {now}")
        kinds = {kind for kind, _ in _verdicts(now)}
        if (
            len(kinds & {"Complete", "Failed"}) > 1
            or len(kinds & {"SuccessCriteriaMet", "FailureTarget"}) > 1
        ):
            self.wrong.append(f"two verdicts: {now}")
        if (now.get("failed") or 0) < (was.get("failed") or 0):
            self.wrong.append(f"failed went down: {was} {now}")
        size = new["spec"].get("completions") or 0
        if new["spec"]["completionMode"] == "Indexed":
            lost = _indexes(was, size) - _indexes(now, size)
            if lost:
                self.wrong.append(f"indexes {lost} are no longer completed: {was} {now}")
        elif (now.get("succeeded") or 0) < (was.get("succeeded") or 0):
            self.wrong.append(f"succeeded went down: {was} {now}")

    def _pod_changed(self, type: str, pod: Obj) -> None:
        meta, phase = pod["metadata"], pod["status"].get("phase")
        uid, ended, deleting = meta["uid"], phase in ("Succeeded", "Failed"), "deletionTimestamp" in meta
        if deleting:
            success = "SuccessCriteriaMet" in self._verdicts
            self._deleted.setdefault(uid, "after success" if success else "before")
        if type == "DELETED" or ended or deleting:
            self._active.discard(uid)
        elif uid not in self._active:
            self._active.add(uid)
            if len(self._active) > self._most_wanted():
                self.wrong.append(f"{len(self._active)} active, {self._most_wanted()} wanted: {self.job}")
        if uid not in self.books and (
            type == "DELETED" or TRACKING not in (meta.get("finalizers") or ())  # the last state had it still
        ):
            self.books[uid] = self._counts_as(pod, phase)

    def _counts_as(self, pod: Obj, phase: str) -> str:
        """What a pod counts as that has just lost its finalizer."""
        deleted = self._deleted.get(pod["metadata"]["uid"])
        if deleted == "after success":
            return "spared"
        if phase == "Succeeded":
            return "succeeded"
        if phase == "Failed":
            return "ignored" if self._ignored(pod) else "failed"
        if deleted is None:
            return "released"
        spec = self.job["spec"]
        only_failed = spec["podReplacementPolicy"] == "Failed" and "FailureTarget" not in self._verdicts
        return "spared" if only_failed else "failed"

    @property
    def _verdicts(self) -> set[str]:
        return {kind for kind, _ in _verdicts(self.job.get("status") or {})}

    def _ignored(self, pod: Obj) -> bool:
        rules = (self.job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
        code = pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"]
        return any(r["action"] == "Ignore" and code in r["onExitCodes"]["values"] for r in rules)

    def _most_wanted(self) -> int:
        now = self._world.clock.monotonic()
        while len(self._parallelism) > 1 and self._parallelism[1][0] < now - _REACTION_SECONDS:
            self._parallelism.popleft()
        return max(number for _, number in self._parallelism)

    def total(self, kind: str) -> int:
        """How many pods count as this."""
        return sum(each == kind for each in self.books.values())


def _verdicts(status: Obj) -> set[tuple[str, str]]:
    true = [c for c in status.get("conditions") or () if c["status"] == "True"]
    return {(c["type"], c["reason"]) for c in true if c["type"] in _VERDICTS}


def _indexes(status: Obj, size: int) -> set[int]:
    """The completed indexes that the Job, as it is now, still has."""
    runs = indexes.read(status.get("completedIndexes") or "", size)
    return {number for first, last in runs for number in range(first, last + 1)}
