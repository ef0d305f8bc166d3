"""Books of what each pod of a Job counts as. A pod is entered when its finalizer goes: from then on nobody
can count it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from longshore.api import indexes
from longshore.api.facts import job_state, owners, pod_state
from longshore.api.types import Obj
from longshore.testing.promises import TRACKING
from simulation import job_oracle
from simulation.record import JOBS, PODS, Change, Record

CountsAs: TypeAlias = Literal["succeeded", "failed", "ignored", "spared", "released"]
"""`ignored` by the podFailurePolicy, `spared` since the Job had succeeded, `released` as not wanted."""


@dataclass
class JobBook:
    job: Obj
    """Its last state."""
    is_gone: bool = False
    pods: dict[str, tuple[CountsAs, int | None]] = field(default_factory=dict)
    """By uid: what a pod counts as, and its index."""
    late: dict[str, str] = field(default_factory=dict)
    """By uid: the names of pods that were made when the Job had ended. Nobody counts them."""
    _deleted: dict[str, bool] = field(default_factory=dict)
    """Pods that were deleted, and whether they ran on until then though the Job had succeeded."""
    _indexes_of_deleted: dict[str, int | None] = field(default_factory=dict)

    _active: set[str] = field(default_factory=set)
    """Pods that have neither ended nor been deleted."""
    _claimed: dict[str, CountsAs] = field(default_factory=dict)
    """Pods that the status listed as uncounted: as what, which they stay however they end."""

    def saw_job(self, change: Change) -> None:
        had_succeeded = "SuccessCriteriaMet" in self._verdicts
        self.job, self.is_gone = change.obj, change.type == "DELETED"
        if not had_succeeded and "SuccessCriteriaMet" in self._verdicts:
            self._spare_terminating()
        uncounted = (change.obj.get("status") or {}).get("uncountedTerminatedPods") or {}
        for uid in uncounted.get("succeeded") or ():
            self._claimed.setdefault(uid, "succeeded")
        for uid in uncounted.get("failed") or ():
            if not self._deleted.get(uid):  # what is killed since the Job has succeeded did not fail
                self._claimed.setdefault(uid, "failed")

    def _spare_terminating(self) -> None:
        """With podReplacementPolicy Failed a pod that is going has not failed yet. Those which the verdict
        itself counts as going, maybe with those that it is about to kill, are spared, though one may have
        failed before its writer was told."""
        completed = listed(self.job["status"], "completedIndexes", self.job["spec"].get("completions") or 0)
        going = [uid for uid, index in self._indexes_of_deleted.items() if index not in completed]
        going = [uid for uid in going if uid not in self.pods]
        is_told = self.job["status"].get("terminating") in (len(going), len(going) + len(self._active))
        if is_told and self.job["spec"]["podReplacementPolicy"] == "Failed":
            self._deleted |= dict.fromkeys(going, True)

    def total(self, kind: CountsAs) -> int:
        return sum(each == kind for each, _ in self.pods.values())

    @property
    def completed(self) -> set[int | None]:
        """The indexes with a pod that succeeded."""
        return {index for each, index in self.pods.values() if each == "succeeded"}

    def saw(self, change: Change) -> None:
        pod = change.obj
        meta = pod["metadata"]
        uid = meta["uid"]
        if change.type == "ADDED" and job_state.has_ended(self.job):
            self.late[uid] = meta["name"]
        if uid in self.late:
            return
        if change.type == "DELETED" or pod_state.has_ended(pod) or "deletionTimestamp" in meta:
            self._active.discard(uid)
        else:
            self._active.add(uid)
        if "deletionTimestamp" in meta:
            spared = "SuccessCriteriaMet" in self._verdicts and not pod_state.has_ended(pod)
            self._deleted.setdefault(uid, spared)
            self._indexes_of_deleted[uid] = pod_state.completion_index(pod)
        if uid in self.pods:
            return
        if change.type == "DELETED" or TRACKING not in (meta.get("finalizers") or ()):
            self.pods[uid] = self._claimed.get(uid) or self._counts_as(pod), pod_state.completion_index(pod)

    def let_go(self, pod: Obj) -> None:
        """Enters a pod that is the Job's no more: it counts if the status had listed it."""
        uid = pod["metadata"]["uid"]
        if uid in self._claimed:
            self.pods.setdefault(uid, (self._claimed[uid], pod_state.completion_index(pod)))

    def _counts_as(self, pod: Obj) -> CountsAs:
        had_succeeded = self._deleted.get(pod["metadata"]["uid"])
        phase = pod_state.phase_of(pod)
        if had_succeeded:
            return "spared"
        if phase == "Succeeded":
            return "succeeded"
        if phase != "Failed":
            # One that is evicted while its suspended Job lets it go is released unless that was seen in time.
            if had_succeeded is None or self.job["spec"].get("suspend"):
                return "released"
            only_failed = self.job["spec"]["podReplacementPolicy"] == "Failed"
            if only_failed and "FailureTarget" not in self._verdicts:
                return "spared"
        # Rules also speak of pods that a Job which failed has killed: one may have been evicted before.
        rules = (self.job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
        return "ignored" if job_oracle.action(rules, pod) == "Ignore" else "failed"

    @property
    def _verdicts(self) -> set[str]:
        conditions = (self.job.get("status") or {}).get("conditions") or ()
        return {each["type"] for each in conditions if each["status"] == "True"}


def books(record: Record) -> dict[str, JobBook]:
    found: dict[str, JobBook] = {}
    for change in record.changes:
        if change.key.storage == JOBS:
            found.setdefault(change.obj["metadata"]["uid"], JobBook(change.obj)).saw_job(change)
        elif change.key.storage == PODS:
            owner, before = owners.controller_of(change.obj), owners.controller_of(change.old or change.obj)
            if owner is not None and owner["uid"] in found:
                found[owner["uid"]].saw(change)
            elif before is not None and before["uid"] in found:
                found[before["uid"]].let_go(change.obj)
    return found


def listed(status: Obj, name: str, size: int) -> set[int]:
    """The indexes of a list in the status of a Job with so many completions."""
    runs = indexes.read(status.get(name) or "", size)
    return {number for first, last in runs for number in range(first, last + 1)}
