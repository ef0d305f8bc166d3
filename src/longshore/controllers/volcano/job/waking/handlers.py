"""Turns changes of objects into requests in a Job's inbox. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable

from longshore.api.facts import kinds, owners
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.types import Obj
from longshore.controllers.volcano.job import observe
from longshore.controllers.volcano.job.memory import VolcanoJobMemory
from longshore.controllers.volcano.job.metrics import VolcanoMetrics
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.waking import job_requests
from longshore.controllers.volcano.job.waking.job_requests import SYNC, JobRequest, PodOf
from longshore.controllers.volcano.names import UNKNOWN, group_phase, opens_gate
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.machinery.informers.informer import Handler

Wake = Callable[[Key], None]
"""Adds a Job to its queue."""


class JobHandler(Handler):
    def __init__(self, memory: VolcanoJobMemory, wake: Wake, metrics: VolcanoMetrics) -> None:
        self._memory, self._wake, self._metrics = memory, wake, metrics

    def on_add(self, obj: Obj, initial: bool) -> None:
        key = key_of(obj)
        if not initial:  # existing Jobs are synced by their state
            self._memory.put(key, SYNC)
        self._wake(key)

    def on_update(self, old: Obj, new: Obj) -> None:
        moved = phase_of(old) != phase_of(new) and not self._memory.is_echo(key_of(new), new)
        is_resync = old is new
        if is_resync or moved or (old["spec"] is not new["spec"] and old["spec"] != new["spec"]):
            key = key_of(new)
            self._memory.put(key, SYNC)
            self._wake(key)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._metrics.gone(obj)
        self._wake(key_of(obj))


class PodHandler(Handler):
    def __init__(self, memory: VolcanoJobMemory, wake: Wake, jobs: Cache, pods: Cache) -> None:
        self._memory, self._wake, self._jobs, self._pods = memory, wake, jobs, pods

    def on_add(self, obj: Obj, initial: bool) -> None:
        mine = job_requests.pod_of(obj)
        if mine is None:
            return
        key = _job_key(obj)
        made_here = self._memory.is_expected(key, obj, mine.uid)
        if made_here and tasks.is_new(obj) and not self._followed(key, mine):
            return
        self._heard(obj, [] if initial else self._changes(None, obj, mine))

    def on_update(self, old: Obj, new: Obj) -> None:
        if old["metadata"].get("resourceVersion") == new["metadata"].get("resourceVersion"):
            return
        mine = job_requests.pod_of(new)
        if mine is None or (tasks.same(old, new) and not self._followed(_job_key(new), mine)):
            return
        self._heard(new, self._changes(old, new, mine))

    def on_delete(self, obj: Obj, stale: bool) -> None:
        mine = job_requests.pod_of(obj)
        if mine is not None:
            self._memory.pod_gone(_job_key(obj), obj["metadata"]["uid"])
            self._heard(obj, [job_requests.of_deletion(obj, mine)])
        elif owners.controller_of(obj) is None:
            self._name_is_free(obj)

    def _name_is_free(self, pod: Obj) -> None:
        """Wakes Jobs that may have waited for the name of a deleted pod without owner. The names of a Job's
        pods begin with the Job's name."""
        meta = pod["metadata"]
        words = meta["name"].split("-")
        for count in range(1, len(words) - 1):
            key = meta["namespace"], "-".join(words[:count])
            if self._jobs.get(*key) is not None:
                self._memory.put(key, SYNC)
                self._wake(key)

    def _followed(self, key: Key, mine: PodOf) -> bool:
        """Whether a policy may react to what happens to the pod."""
        job = self._jobs.get(*key)
        return job is None or job["metadata"]["uid"] != mine.uid or _has_policies(job, mine.task)

    def _changes(self, old: Obj | None, new: Obj, mine: PodOf) -> list[JobRequest]:
        def task_pods(name: str) -> tuple[Obj | None, list[Obj]]:
            job = self._jobs.get(*_job_key(new))
            if job is None or job["metadata"]["uid"] != mine.uid or not _has_policies(job, name):
                return None, []  # no policy asks for the state of the whole task
            found = observe.pods_of(self._pods, mine.uid).get(name, {})
            return tasks.find(job, name), [*found.values()]

        return job_requests.of_change(old, new, mine, task_pods)

    def _heard(self, pod: Obj, found: list[JobRequest]) -> None:
        key = _job_key(pod)
        for request in found:
            self._memory.put(key, request)
        self._wake(key)


class GroupHandler(Handler):
    def __init__(self, memory: VolcanoJobMemory, wake: Wake) -> None:
        self._memory, self._wake = memory, wake

    def on_add(self, obj: Obj, initial: bool) -> None:
        """Wakes the Job if a new PodGroup is already admitted: the change of its phase was missed."""
        if not initial and opens_gate(group_phase(obj)):
            self._heard(obj)

    def on_update(self, old: Obj, new: Obj) -> None:
        """Wakes the Job if the phase becomes Unknown, or begins or ceases to allow pods."""
        before, after = group_phase(old), group_phase(new)
        if before != after and (after == UNKNOWN or opens_gate(before) != opens_gate(after)):
            self._heard(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._memory.group_gone(_group_key(obj), obj["metadata"]["uid"])

    def _heard(self, group: Obj) -> None:
        key = _group_key(group)
        self._memory.put(key, job_requests.of_group(group))
        self._wake(key)


class CommandHandler(Handler):
    def __init__(self, memory: VolcanoJobMemory, wake: Wake) -> None:
        self._memory, self._wake = memory, wake

    def on_add(self, obj: Obj, initial: bool) -> None:
        target = obj.get("target") or {}
        if (target.get("apiVersion"), target.get("kind")) == kinds.VOLCANO_JOBS and target.get("name"):
            key = (obj["metadata"]["namespace"], target["name"])
            self._memory.put(key, job_requests.of_command(obj))
            self._wake(key)


def _has_policies(job: Obj, task: str) -> bool:
    found = tasks.find(job, task)
    return bool(job["spec"].get("policies")) or bool(found and found.get("policies"))


def _job_key(pod: Obj) -> Key:
    return pod["metadata"]["namespace"], job_requests.job_name(pod)


def _group_key(group: Obj) -> Key:
    """Returns the key of the Job that owns the PodGroup, or else of the Job with its name."""
    meta = group["metadata"]
    name = meta["name"]
    for ref in meta.get("ownerReferences") or ():
        if ref.get("kind") == "Job":
            name = ref["name"]
    return meta["namespace"], name
