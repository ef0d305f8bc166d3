"""A model of Jobs: says from the ends of their pods and the deeds of people how they must end.

It shares no code with longshore. A pod that is deleted, loses its label or ends after the verdict may count
or not: a status lies between what must be, which only sure ends decide, and what may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import NamedTuple

from longshore.api.types import Obj
from simulation.record import JOBS, PODS, Change, Record

_TRACKING = "batch.kubernetes.io/job-tracking"
_INDEX = "batch.kubernetes.io/job-completion-index"
_VERDICTS = ("SuccessCriteriaMet", "FailureTarget", "Complete", "Failed")
_REACTION_SECONDS = 20.0
"""Watches are late by a second, their delays add up, and nobody judges before their own writes are seen."""
_UNSEEN_SECONDS = 60.0
"""For so long an end may be unseen where sight is lost, requests fail and watches are late."""
_WHOLE_SECOND = 1.0
_UNLIMITED = 2**31 - 1


def a_job_ends_as_its_pods_and_its_people_say(record: Record) -> Iterator[str]:
    """The verdict of a Job had a cause, came for the first one, and is there if there was one; counters and
    indexes are those of the pods that ended."""
    for model in _models(record).values():
        for said in model.differences(record):
            yield f"{model.job['metadata']['name']}: {said}"


class _End(NamedTuple):
    at: float
    index: int | None
    succeeded: bool
    action: str
    """Of the first rule that matches a failure; Count without one."""
    is_sure: bool


@dataclass
class _Pod:
    made_at: float
    state: Obj
    """Its last state, while it was the Job's."""
    ended_at: float | None = None
    deleted_at: float | None = None
    is_released: bool = False

    def ends(self, rules: Iterable[Obj], verdict_at: float, given_up_at: float) -> Iterator[_End]:
        """How this pod may count: a success, a failure, both or neither. Of a Job that is given up all pods
        fail that are not known to have succeeded."""
        if self.made_at > verdict_at:
            return
        index = (self.state["metadata"].get("annotations") or {}).get(_INDEX)
        number = None if index is None else int(index)
        said = action(rules, self.state)
        if self.ended_at is not None:
            is_sure = self.deleted_at is None or self.deleted_at > self.ended_at
            is_sure = is_sure and not self.is_released and self.ended_at < verdict_at
            succeeded = self.state["status"]["phase"] == "Succeeded"
            is_seen = not succeeded or self.ended_at < given_up_at - _UNSEEN_SECONDS
            yield _End(self.ended_at, number, succeeded, said, is_sure and is_seen)
            if not is_seen:
                yield _End(self.ended_at, number, False, "Count", False)
        if self.deleted_at is not None and (self.ended_at is None or self.deleted_at <= self.ended_at):
            yield _End(self.deleted_at, number, False, said, False)
            yield _End(self.deleted_at, number, False, "Count", False)


@dataclass
class _Model:
    job: Obj
    """Its last state."""
    is_gone: bool = False
    verdict_at: float = inf
    reason: str = ""
    fails: bool = False
    """Whether that is a failure."""
    runs_since: float = inf
    """When it was made, or resumed last."""
    restarts: int = 0
    """The most restarts in place that its running pods had at one time."""
    pods: dict[str, _Pod] = field(default_factory=dict)

    def saw_job(self, change: Change) -> None:
        suspended = change.obj["spec"].get("suspend")
        if change.old is None or (change.old["spec"].get("suspend") and not suspended):
            self.runs_since = change.at
        self.job, self.is_gone = change.obj, change.type == "DELETED"
        verdict = next((c for c in _conditions(change.obj) if c["type"] in _VERDICTS), None)
        if verdict is not None and not self.reason:
            self.verdict_at, self.reason = change.at, verdict["reason"]
            self.fails = verdict["type"] in ("FailureTarget", "Failed")

    def saw_pod(self, change: Change, is_own: bool) -> None:
        uid, meta = change.obj["metadata"]["uid"], change.obj["metadata"]
        pod = self.pods.setdefault(uid, _Pod(change.at, change.obj))
        if not is_own:
            pod.is_released = True
            return
        pod.state = change.obj
        has_ended = (change.obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if has_ended and pod.ended_at is None:
            pod.ended_at = change.at
            pod.is_released |= _TRACKING not in (meta.get("finalizers") or ())
        if pod.deleted_at is None and (change.type == "DELETED" or "deletionTimestamp" in meta):
            pod.deleted_at = change.at
        running = [each.state for each in self.pods.values() if each.ended_at is None]
        self.restarts = max(self.restarts, sum(map(_restarts, running)))

    def differences(self, record: Record) -> Iterator[str]:
        """What the Job's last state says otherwise than the model."""
        rules = (self.job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
        given_up_at = self.verdict_at if self.fails else inf
        pods = self.pods.values()
        ends = [end for pod in pods for end in pod.ends(rules, self.verdict_at, given_up_at)]
        sums = _Sums(self, ends, any(deed.verb == "jump" for deed in record.scenario.deeds))
        if self.reason and self.reason not in (may := sums.causes(self.verdict_at, sure=False)):
            yield f"ended for {self.reason}, possible are {sorted(may)}: {ends}"
        must = sums.causes(inf, sure=True)
        if must and not self.reason and record.ended_quietly and not self.is_gone:
            yield f"has no verdict, and should for {sorted(must)}: {ends}"
        scenario = record.scenario
        if scenario.is_prompt:
            yield from self._late(sums, ends)
        if record.ended_quietly and not self.is_gone:
            yield from self._counters(sums)
            yield from self._conditions()

    def _late(self, sums: _Sums, ends: list[_End]) -> Iterator[str]:
        for at in sorted({end.at for end in ends if end.is_sure}):
            if first := sums.causes(at, sure=True):
                soon = at + _REACTION_SECONDS
                if self.verdict_at > soon and self.reason not in sums.causes(soon, sure=False):
                    yield f"{sorted(first)} at {at:.1f}, and {self.reason} at {self.verdict_at:.1f}"
                return

    def _counters(self, sums: _Sums) -> Iterator[str]:
        status = self.job.get("status") or {}
        size = self.job["spec"].get("completions") or 0
        for name in ("succeeded", "failed"):
            least, most = (sums.total(name, sure=sure) for sure in (True, False))
            if name == "failed" and not self.reason and "backoffLimitPerIndex" in self.job["spec"]:
                least = 0  # a pod that failed carries the failures of its index until there is another
            if not least <= status.get(name, 0) <= most:
                yield f"{name} is {status.get(name, 0)}, must be {least} to {most}: {sums.ends}"
        seen = self.verdict_at - _UNSEEN_SECONDS if self.fails else inf  # unseen failures are deleted
        for name in ("completedIndexes", "failedIndexes"):
            found = read_indexes(status.get(name) or "", size)
            must, may = getattr(sums, name)(seen, sure=True), getattr(sums, name)(inf, sure=False)
            if not must <= found <= may:
                yield f"{name} are {sorted(found)}, must have {sorted(must)} of {sorted(may)}: {sums.ends}"

    def _conditions(self) -> Iterator[str]:
        status, true = self.job.get("status") or {}, {c["type"]: c for c in _conditions(self.job)}
        end = true.get("Complete") or true.get("Failed")
        if end is not None and end["reason"] != self.reason:
            yield f"was judged for {self.reason}, and ended for {end['reason']}"
        if ("completionTime" in status) != ("Complete" in true):
            yield f"its completionTime is {status.get('completionTime')}, and {sorted(true)}"
        if end is None and ("Suspended" in true) != bool(self.job["spec"].get("suspend")):
            yield f"suspend is {self.job['spec'].get('suspend')}, and {sorted(true)}"
        busy = {name: status[name] for name in ("active", "ready", "terminating") if status.get(name)}
        if end is not None and busy:
            yield f"has ended, and still has {busy}"


class _Sums:
    def __init__(self, model: _Model, ends: list[_End], is_jumpy: bool) -> None:
        self._model, self.ends, self._is_jumpy = model, ends, is_jumpy
        self._spec = model.job["spec"]

    def causes(self, until: float, *, sure: bool) -> set[str]:
        """The reasons for which the Job must end by then; if not `sure`, those for which it may."""
        spec = self._spec
        size, limit = spec.get("completions"), spec.get("backoffLimit", _UNLIMITED)
        ends = [*self._until(until, sure)]
        failed = sum(not end.succeeded and end.action != "Ignore" for end in ends)
        succeeded = sum(end.succeeded for end in ends)
        found = {
            "PodFailurePolicy": any(end.action == "FailJob" and not end.succeeded for end in ends),
            "BackoffLimitExceeded": failed > limit or (not sure and self._restarted(limit)),
            "DeadlineExceeded": not sure and self._is_late(until),
            "CompletionsReached": succeeded >= (size or 1) and (size is not None or not sure),
        }
        if spec["completionMode"] == "Indexed":
            assert size is not None
            done, lost = self.completedIndexes(until, sure=sure), self.failedIndexes(until, sure=sure)
            found["CompletionsReached"] = len(done) == size
            found["FailedIndexes"] = bool(lost) and len(done | lost) == size
            found["MaxFailedIndexesExceeded"] = len(lost) > spec.get("maxFailedIndexes", _UNLIMITED)
            policy = (spec.get("successPolicy") or {}).get("rules") or ()
            found["SuccessPolicy"] = any(_is_met(rule, done, size) for rule in policy)
        return {reason for reason, holds in found.items() if holds}

    def total(self, name: str, *, sure: bool) -> int:
        """So many pods succeeded, or failed, at least or at most."""
        if name == "succeeded" and self._spec["completionMode"] == "Indexed":
            return len(self.completedIndexes(inf, sure=sure))
        ends = self._until(inf, sure)
        if name == "succeeded":
            return sum(end.succeeded for end in ends)
        return sum(not end.succeeded and end.action != "Ignore" for end in ends)

    def completedIndexes(self, until: float, *, sure: bool) -> set[int]:
        done = {end.index for end in self._until(until, sure) if end.succeeded and end.index is not None}
        return done - self.failedIndexes(until, sure=False) if sure else done

    def failedIndexes(self, until: float, *, sure: bool) -> set[int]:
        if "backoffLimitPerIndex" not in self._spec:
            return set()
        failures: dict[int, int] = {}
        for end in self._until(until, sure):
            if not end.succeeded and end.index is not None and end.action != "Ignore":
                weight = _UNLIMITED if end.action == "FailIndex" else 1
                failures[end.index] = failures.get(end.index, 0) + weight
        lost = {index for index, number in failures.items() if number > self._spec["backoffLimitPerIndex"]}
        possible = {end.index for end in self.ends if end.succeeded and end.at <= until}
        return lost - possible if sure else lost

    def _until(self, until: float, sure: bool) -> Iterator[_End]:
        return (end for end in self.ends if end.at <= until and (end.is_sure or not sure))

    def _restarted(self, limit: int) -> bool:
        in_place = self._spec["template"]["spec"]["restartPolicy"] == "OnFailure"
        return in_place and self._model.restarts >= max(limit, 1)

    def _is_late(self, until: float) -> bool:
        deadline = self._spec.get("activeDeadlineSeconds", inf)
        is_over = until - self._model.runs_since >= deadline - _WHOLE_SECOND
        return is_over or (self._is_jumpy and deadline < inf)


def _models(record: Record) -> dict[str, _Model]:
    found: dict[str, _Model] = {}
    for change in record.changes:
        if change.key.storage == JOBS:
            found.setdefault(change.obj["metadata"]["uid"], _Model(change.obj)).saw_job(change)
        elif change.key.storage == PODS:
            now, before = owner_of(change.obj), owner_of(change.old or change.obj)
            if (owner := now or before) in found:
                found[owner].saw_pod(change, is_own=bool(now))
    return found


def owner_of(obj: Obj) -> str:
    """The uid of the object's controller; empty without one."""
    references = obj["metadata"].get("ownerReferences") or ()
    return next((str(each["uid"]) for each in references if each.get("controller")), "")


def seconds(time: str) -> float:
    """Seconds since 1970."""
    return datetime.fromisoformat(time).timestamp()


def read_indexes(text: str, size: int) -> set[int]:
    """The indexes below `size` that a list such as 0-2,5 names."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= {*range(int(first), int(last or first) + 1)}
    return {index for index in found if index < size}


def _conditions(job: Obj) -> list[Obj]:
    return [c for c in (job.get("status") or {}).get("conditions") or () if c["status"] == "True"]


def _restarts(pod: Obj) -> int:
    status = pod.get("status") or {}
    lists = (status.get(name) or () for name in ("containerStatuses", "initContainerStatuses"))
    return sum(each.get("restartCount", 0) for one in lists for each in one)


def _is_met(rule: Obj, done: set[int], size: int) -> bool:
    wanted = read_indexes(rule["succeededIndexes"], size) if "succeededIndexes" in rule else None
    if wanted is None:
        return len(done) >= rule["succeededCount"]
    return wanted <= done or len(wanted & done) >= rule.get("succeededCount", inf)


def action(rules: Iterable[Obj], pod: Obj) -> str:
    """What the first rule that matches a failed pod says; Count without one."""
    status = pod.get("status") or {}
    for rule in rules:
        if (codes := rule.get("onExitCodes")) is not None:
            matches = any(_is_listed(codes, *end) for end in _exits(status))
        else:
            wanted = {(each["type"], each["status"]) for each in rule["onPodConditions"]}
            matches = any((c["type"], c["status"]) in wanted for c in status.get("conditions") or ())
        if matches:
            return str(rule["action"])
    return "Count"


def _exits(status: Obj) -> Iterator[tuple[str, int]]:
    """The containers that have ended, with their exit codes."""
    for name in ("containerStatuses", "initContainerStatuses"):
        for each in status.get(name) or ():
            if (ended := (each.get("state") or {}).get("terminated")) is not None:
                yield each["name"], ended.get("exitCode", 0)


def _is_listed(codes: Obj, container: str, code: int) -> bool:
    if codes.get("containerName") not in (None, container) or not code:
        return False
    return (code in codes["values"]) == (codes["operator"] == "In")
