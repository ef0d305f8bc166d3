"""A model of Volcano Jobs: says from the ends of their pods and the commands of people which phase follows.

It shares no code with longshore. An act is what makes a gang change its course: an event of a pod for which
there is a policy, or a command. Each is good for one change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Final

from longshore.api.types import Obj
from simulation.job_oracle import owner_of
from simulation.record import POD_GROUPS, Change, Record

_NOTES = "volcano.sh/{}"
_ALIVE = ("", "Pending", "Running")
_INTERIM = ("Restarting", "Completing", "Terminating", "Aborting")
_ENDED = ("Succeeded", "Failed")
_REACTION_SECONDS = 20.0
"""Delays of watches add up, and so long what was deleted may still be seen."""
_PHASE_OF: Final = {
    "RestartJob": "Restarting",
    "RestartTask": "Restarting",
    "RestartPod": "Restarting",
    "RestartPartition": "Restarting",
    "AbortJob": "Aborting",
    "CompleteJob": "Completing",
    "TerminateJob": "Terminating",
}
_ONCE_GONE: Final = {"Completing": "Completed", "Terminating": "Terminated", "Aborting": "Aborted"}


def a_gang_goes_as_its_pods_and_its_people_say(record: Record) -> Iterator[str]:
    """Each change of a gang's phase has a cause, each cause is good for one, and none is left over."""
    models: dict[str, _Model] = {}
    for change in record.changes:
        meta = change.obj["metadata"]
        match change.key.storage:
            case "batch.volcano.sh/jobs":
                model = models.setdefault(meta["uid"], _Model(change.obj, record))
                for said in model.saw_gang(change):
                    yield f"{meta['name']} at {change.at:.1f}: {said}"
            case "pods" | "scheduling.volcano.sh/podgroups" if owner_of(change.obj) in models:
                models[owner_of(change.obj)].saw_part(change)
            case "bus.volcano.sh/commands" if change.type == "ADDED":
                target = change.obj["target"]["uid"]
                if target in models:
                    models[target].acts.append(_Act(change.at, change.obj["action"], "command", None))
    for model in models.values():
        for said in model.left_over():
            yield f"{model.gang['metadata']['name']} at rest: {said}"


@dataclass
class _Act:
    at: float
    action: str
    event: str
    version: int | None
    """The version of the gang that it is good for; None for any."""
    pod: str = ""
    """The uid of the pod that it is about."""
    is_sure: bool = True
    """Whether it must have been seen."""
    is_spent: bool = False


@dataclass
class _Pod:
    name: str
    task: str
    version: int
    phase: str = "Pending"
    is_meddled_with: bool = False
    """Whether it was deleted, or is about to be."""
    gone_at: float | None = None


@dataclass
class _Model:
    gang: Obj
    """Its last state."""
    record: Record
    acts: list[_Act] = field(default_factory=list)
    pods: dict[str, _Pod] = field(default_factory=dict)
    is_gone: bool = False

    # What happens

    def saw_gang(self, change: Change) -> Iterator[str]:
        """What is wrong with a change of the gang."""
        self.gang, self.is_gone = change.obj, change.type == "DELETED"
        before, now = phase_of(change.old or {}), phase_of(change.obj)
        spent = _retries(change.obj) - _retries(change.old or {})
        if change.old is None or self.is_gone:
            return
        if spent != (now == "Restarting" and before != now):
            yield f"{before} became {now}, and spent {spent} retries"
        if before == now or (before, now) == ("", "Pending"):
            return
        version = (change.old.get("status") or {}).get("version", 0)
        yield from self._ignored(change.at, before, now, version)
        if not self._has_cause(change.at, before, now, version):
            yield f"{before} became {now} without a cause: {self.acts}, {[*self.pods.values()]}"

    def saw_part(self, change: Change) -> None:
        """Notes what became of a pod, or of the PodGroup."""
        if change.key.storage == POD_GROUPS:
            if phase_of(change.obj, "") == "Unknown" != phase_of(change.old or {}, ""):
                self._happened(change, "Unknown", _Pod("", "", 0))
            return
        meta = change.obj["metadata"]
        notes = meta.get("annotations") or {}
        task, version = notes.get(_NOTES.format("task-spec")), notes.get(_NOTES.format("job-version"))
        if task is None or version is None:
            return
        if meta["uid"] not in self.pods:
            self.pods[meta["uid"]] = _Pod(meta["name"], task, int(version))
            self._happened(change, "PodPending", self.pods[meta["uid"]], is_sure=False)
        pod = self.pods[meta["uid"]]
        before, pod.phase = pod.phase, (change.obj.get("status") or {}).get("phase", "Pending")
        if "deletionTimestamp" in meta or notes.get(_NOTES.format("controller-out-of-sync")):
            pod.is_meddled_with = True
        if pod.phase == "Failed" != before:
            self._happened(change, "PodFailed", pod)
        elif pod.phase == "Succeeded" != before and self._is_complete(change.at, task):
            # Whoever starts anew may find that each of its pods completed the task.
            for number in range(self._replicas(task)):
                is_first = number == 0 and self._is_complete(inf, task)
                self._happened(change, "TaskCompleted", pod, is_sure=is_first)
        if change.type == "DELETED":
            pod.gone_at, pod.is_meddled_with = change.at, True
            self._happened(change, "PodEvicted", pod)

    def _happened(self, change: Change, event: str, pod: _Pod, *, is_sure: bool = True) -> None:
        """Enters the act for which an event is reason enough, if any."""
        code = next(
            (
                each["state"]["terminated"].get("exitCode")
                for each in (change.obj.get("status") or {}).get("containerStatuses") or ()
                if "terminated" in (each.get("state") or {})
            ),
            None,
        )
        spec = self.gang["spec"]
        lists = [task.get("policies") or () for task in spec["tasks"] if task["name"] == pod.task]
        for policy in (policy for one in (*lists, spec.get("policies") or ()) for policy in one):
            events = (*policy.get("events", ()), policy.get("event"))
            if event == "PodPending" and "timeout" not in policy:
                continue
            is_sure = is_sure and "timeout" not in policy
            if event in events or "*" in events or (code and policy.get("exitCode") == code):
                uid = change.obj["metadata"]["uid"]
                act = _Act(change.at, policy["action"], event, pod.version, uid, is_sure=is_sure)
                self.acts.append(act)
                return

    # What must follow

    def _has_cause(self, at: float, before: str, now: str, version: int) -> bool:
        spec, status = self.gang["spec"], self.gang["status"]
        match before, now:
            case (("" | "Pending" | "Running"), ("Restarting" | "Completing" | "Terminating" | "Aborting")):
                gives_up = now == "Terminating" and self.record.scenario.is_rationed
                return self._spend(now, version) or gives_up
            case (("Aborting" | "Aborted"), "Restarting"):
                return self._spend("Resumed", version)
            case (("Completing" | "Terminating" | "Aborting"), _):
                return _ONCE_GONE[before] == now and not self._alive()
            case "Restarting", ("Failed" | "Pending"):
                return (status["retryCount"] >= spec["maxRetry"]) == (now == "Failed")
            case (("" | "Pending"), "Running"):
                started = self._names(at, "Running", *_ENDED)
                return len(started) >= spec["minAvailable"]
            case "Running", "Pending":
                return True  # its pods wait: others took their place
            case "Running", ("Completed" | "Failed"):
                return now in self._ends(at)
        return False

    def _spend(self, phase: str, version: int) -> bool:
        for act in self.acts:
            target = "Resumed" if act.action == "ResumeJob" else _PHASE_OF.get(act.action)
            if target == phase and not act.is_spent and act.version in (None, version):
                act.is_spent = True
                return True
        return False

    def _alive(self) -> list[_Pod]:
        return [pod for pod in self.pods.values() if pod.gone_at is None and pod.phase not in _ENDED]

    def _names(self, at: float, *phases: str) -> set[str]:
        """The names of pods that are in one of these phases, or were a moment ago."""
        found = set()
        for pod in self.pods.values():
            if pod.phase in phases and (pod.gone_at is None or pod.gone_at > at - _REACTION_SECONDS):
                found.add(pod.name)
        return found

    def _ends(self, at: float) -> set[str]:
        """The ends to which the ends of the pods may come."""
        spec = self.gang["spec"]
        total = sum(task["replicas"] for task in spec["tasks"])
        succeeded, failed = self._names(at, "Succeeded"), self._names(at, "Failed")
        enough = spec.get("minSuccess")
        found = set()
        if enough is not None and len(succeeded) >= enough:
            found.add("Completed")
        if len(succeeded | failed) < total:
            return found
        if enough is None and len(succeeded) >= spec["minAvailable"] and not self._short(succeeded):
            found.add("Completed")
        sure = succeeded - failed
        if len(sure) < (spec["minAvailable"] if enough is None else enough) or self._short(sure):
            found.add("Failed")
        return found

    def _short(self, succeeded: set[str]) -> bool:
        """Whether a task has too few successes. Asked only of a gang that needs all its tasks."""
        spec, name = self.gang["spec"], self.gang["metadata"]["name"]
        if spec["minAvailable"] < sum(task["minAvailable"] for task in spec["tasks"]):
            return False
        return any(
            sum(f"{name}-{task['name']}-{i}" in succeeded for i in range(task["replicas"]))
            < task["minAvailable"]
            for task in spec["tasks"]
        )

    def _is_complete(self, at: float, task: str) -> bool:
        succeeded = self._names(at, "Succeeded")
        names = {pod.name for pod in self.pods.values() if pod.task == task and pod.name in succeeded}
        return len(names) >= self._replicas(task)

    def _replicas(self, name: str) -> int:
        return next((int(task["replicas"]) for task in self.gang["spec"]["tasks"] if task["name"] == name), 0)

    # What must have followed

    def _ignored(self, at: float, before: str, now: str, version: int) -> Iterator[str]:
        """The acts that came long before another course was taken. Judged where watches are little late."""
        scenario = self.record.scenario
        if not scenario.is_prompt or before not in _ALIVE:
            return
        for act in self._sure(version):
            if act.at < at - _REACTION_SECONDS and _PHASE_OF[act.action] != now and now not in _ALIVE:
                yield f"{before} became {now}, though there was {act}"

    def _sure(self, version: int) -> list[_Act]:
        """The acts for which the pods are still there, and that nothing has answered."""
        found = []
        for act in self.acts:
            pod = self.pods.get(act.pod)
            if pod is None or pod.is_meddled_with or act.is_spent or not act.is_sure:
                continue
            if act.version == version:
                found.append(act)
        return found

    def left_over(self) -> Iterator[str]:
        """What the gang should have done, and has not."""
        if not self.record.ended_quietly or self.is_gone or "deletionTimestamp" in self.gang["metadata"]:
            return
        phase, status = phase_of(self.gang), self.gang.get("status") or {}
        if phase in _INTERIM:
            yield f"is still {phase}"
        if phase in _ALIVE:
            for act in self._sure(status.get("version", 0)):
                yield f"is {phase}, and there was {act}"
        if phase == "Running" and self._ends(self.record.changes[-1].at) and not self._alive():
            yield f"is Running, and all its pods have ended: {[*self.pods.values()]}"


def phase_of(obj: Obj, within: str = "state") -> str:
    """The phase in an object's status; empty without one."""
    status = obj.get("status") or {}
    return str(((status.get(within) or {}) if within else status).get("phase", ""))


def _retries(gang: Obj) -> int:
    return int((gang.get("status") or {}).get("retryCount", 0))
