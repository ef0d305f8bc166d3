"""Counts every finished pod exactly once, even if the controller crashes on the way.

A pod keeps its finalizer, and so cannot vanish, until its UID is written to status.uncountedTerminatedPods
(write 1). Then the finalizer is removed (write 2). Then one write removes the UID and raises the counter
(write 3). After a crash in between the UID is still listed: if its pod has the finalizer, the finalizer is
removed; if not, the counter is raised. Succeeded indexes need no UIDs: completedIndexes already counts each
index once.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from longshore.api import indexes
from longshore.api.facts import pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.job.ends import conditions, failure_policy, outcome
from longshore.controllers.job.ends.conditions import Outcome
from longshore.controllers.job.plan import JobPlan, PodResults, Tracking
from longshore.controllers.job.pods import counting, wanted
from longshore.controllers.job.pods.counting import Held, valid
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Event
from longshore.machinery.reasons import Reason

MAX_UNCOUNTED_PODS: Final = 500
"""Keeps the UIDs in the status below 20 kB, and lets other Jobs have a turn."""

_COMPLETIONS: Final = outcome.COMPLETIONS.why


def track(plan: JobPlan, results: PodResults) -> Tracking:
    """Returns the status to write and the pods to strip, after the plan's pods were changed."""
    old = plan.view.job.get("status") or {}
    active = plan.count.active - results.removed + results.created
    ready = plan.count.ready - results.removed_ready
    terminating = plan.count.terminating + results.removed
    status: Obj = {
        **old,
        "active": active,
        "ready": ready,
        "terminating": terminating,
        "startTime": plan.start_time,
    }
    verdict, why = _verdict(plan, active)
    events: Sequence[Event] = ()
    flush = (old.get("active") or 0, old.get("ready"), old.get("terminating")) != (active, ready, terminating)
    if verdict is None and plan.managed:
        events = _suspension(plan, status)
        flush = flush or bool(events)
    holding = _holding(plan, status)
    flush = settle(status, holding) or flush
    tracking = _Tracker(plan, verdict, status)
    if plan.view.roll.tracked:
        tracking.go_through()
        flush = tracking.flush or flush
    if plan.indexes is not None:
        flush = _write_indexes(plan, status) or flush
    if verdict is not None:
        flush = _write_verdict(verdict, status, plan.view.now) or flush
        verdict = verdict.final
    return Tracking(
        plan,
        _tidied(status),
        flush,
        strip=tracking.strip,
        holding=holding | {pod["metadata"]["uid"] for pod in tracking.strip},
        outcome=verdict,
        terminating=terminating,
        limit_hit=tracking.limit_hit,
        events=events,
        policy_actions=tracking.policy_actions,
        look_again=0.0 if _goes_on(plan, limit_hit=tracking.limit_hit) else None,
        why=why,
    )


def before_killing(plan: JobPlan) -> Tracking | None:
    """Returns the status to write before the plan's pods are deleted, as if they were; None if no write is
    needed.

    A verdict is recorded before pods are deleted for it. Otherwise, after a crash in between, the deleted
    pods would count as pods that failed by themselves."""
    if plan.outcome is None or not plan.view.satisfied:
        return None
    return track(plan, PodResults(len(plan.delete), sum(pod_state.is_ready(pod) for pod in plan.delete)))


def _goes_on(plan: JobPlan, *, limit_hit: bool) -> bool:
    """Whether the Job needs another sync even without new events: a limit was reached, or new pods replace
    failed ones, which may now lose their finalizer (`_is_kept`), or other indexes wait for a retry."""
    most = wanted.MAX_PODS_PER_SYNC
    if limit_hit or len(plan.create) >= most or len(plan.release) >= most:
        return True
    return bool(plan.create) and plan.indexes is not None and bool(plan.indexes.delayed)


def _verdict(plan: JobPlan, active: int) -> tuple[Outcome | None, tuple[Reason, ...]]:
    """Returns the outcome to record in this sync."""
    if plan.outcome is not None:
        return (plan.outcome if plan.view.satisfied else None), ()
    if outcome.complete(plan.spec, plan.succeeded, active):
        return outcome.COMPLETIONS, (_COMPLETIONS,)
    return None, ()


def _suspension(plan: JobPlan, status: Obj) -> Sequence[Event]:
    """Updates the Suspended condition. Sets startTime to now when a Job is resumed."""
    known = status.get("conditions") or []
    if not known and not plan.spec.suspended:
        return ()
    code, value = ("Suspended", "True") if plan.spec.suspended else ("Resumed", "False")
    event = catalogue.event(code, {})
    now = rfc3339.from_seconds(plan.view.now)
    changed = conditions.ensured(known, "Suspended", value, f"Job{code}", event.message, now)
    if changed is None:
        return ()
    status["conditions"] = changed
    status["startTime"] = None if plan.spec.suspended else now
    return (event,)


def _holding(plan: JobPlan, status: Obj) -> set[str]:
    """Returns the listed UIDs whose pods still have the finalizer."""
    tracked, going = plan.view.roll.tracked, plan.view.going
    uncounted = status.get("uncountedTerminatedPods") or {}
    return {uid for uids in uncounted.values() for uid in uids if uid in tracked and uid not in going}


def settle(status: Obj, holding: Set[str]) -> bool:
    """Raises the counters for listed UIDs whose pods lost the finalizer. Returns whether there were any."""
    uncounted = status.get("uncountedTerminatedPods")
    if not uncounted:
        status["uncountedTerminatedPods"] = {}
        return False
    left: Obj = {}
    moved = False
    for kind in ("succeeded", "failed"):
        listed = uncounted.get(kind) or []
        staying = [uid for uid in listed if uid in holding]
        if len(staying) < len(listed):
            status[kind] = (status.get(kind) or 0) + len(listed) - len(staying)
            moved = True
        if staying:
            left[kind] = staying
    status["uncountedTerminatedPods"] = left
    return moved


class _Tracker:
    """One pass over the pods that still have the finalizer."""

    def __init__(self, plan: JobPlan, verdict: Outcome | None, status: Obj) -> None:
        self._plan, self._verdict = plan, verdict
        self._all_fail = verdict is not None and not verdict.success
        uncounted = status["uncountedTerminatedPods"]
        self._succeeded: list[str] = list(uncounted.get("succeeded") or ())
        self._failed: list[str] = list(uncounted.get("failed") or ())
        self._status = status
        self._new_indexes = 0
        self.flush = False
        self.limit_hit = False
        self.strip: list[Obj] = []
        self.policy_actions: dict[str, int] = {}

    def go_through(self) -> None:
        everyone = self._verdict is not None or self._plan.spec.deleting
        plan = self._plan
        held = plan.count.ended
        if everyone:
            held = counting.held(plan.view, plan.spec, plan.view.roll.tracked.values())
        if plan.spec.indexed:
            held = sorted(held, key=lambda h: h.completion_index)
        for each in held:
            if each.going or (not everyone and self._is_kept(each)):
                continue
            self.strip.append(each.pod)
            self._list(each)
            if self._new_indexes + len(self._succeeded) + len(self._failed) >= MAX_UNCOUNTED_PODS:
                self.limit_hit = True
                break
        if self.flush:
            lists = {"succeeded": self._succeeded, "failed": self._failed}
            self._status["uncountedTerminatedPods"] = {kind: uids for kind, uids in lists.items() if uids}

    def _is_kept(self, each: Held) -> bool:
        """Whether a failed pod must stay until a replacement carries on its index's failure count. If the
        namespace is being deleted there is no replacement, and the pod must go."""
        if each.phase == "Succeeded" or self._plan.indexes is None or self._plan.view.namespace_going:
            return False
        delayed = self._plan.indexes.delayed.get(each.completion_index)
        return delayed is not None and delayed["metadata"]["uid"] == each.uid

    def _list(self, each: Held) -> None:
        """Adds the pod to the list in which it counts, if any."""
        plan = self._plan
        if each.killed and plan.outcome is not None and plan.outcome.success:
            return
        if each.phase == "Succeeded" and each.uid not in plan.count.uncounted_failed:
            if plan.indexes is not None:
                if valid(each.completion_index, plan.spec) and not indexes.contains(
                    plan.indexes.before, each.completion_index
                ):
                    self._new_indexes += 1
                    self.flush = True
            elif each.uid not in plan.count.uncounted_succeeded:
                self._succeeded.append(each.uid)
                self.flush = True
        elif each.failed or self._all_fail:
            if each.uid in plan.count.uncounted_failed:
                return
            if plan.indexes is not None and not valid(each.completion_index, plan.spec):
                return
            judged = failure_policy.judge(plan.spec.failure_rules, each.pod)
            if judged.action:
                self.policy_actions[judged.action] = self.policy_actions.get(judged.action, 0) + 1
            if judged.counted:
                self._failed.append(each.uid)
                self.flush = True


def _write_indexes(plan: JobPlan, status: Obj) -> bool:
    assert plan.indexes is not None
    before = (status.get("completedIndexes") or "", status.get("failedIndexes"))
    completed = indexes.write(plan.indexes.succeeded)
    failed = None if plan.indexes.failed is None else indexes.write(plan.indexes.failed)
    status.update(completedIndexes=completed, failedIndexes=failed, succeeded=plan.succeeded)
    return before != (completed, failed)


def _write_verdict(verdict: Outcome, status: Obj, now: float) -> bool:
    """Records the interim condition, unless an earlier sync did."""
    known = status.get("conditions") or []
    if verdict.type == "Failed" or conditions.true(known, verdict.type) is not None:
        return False
    at = rfc3339.from_seconds(now)
    entry = conditions.made(verdict.type, "True", verdict.reason, verdict.message, at)
    status["conditions"] = [*known, entry]
    return True


_LEFT_OUT_WHEN_EMPTY: Final = ("active", "succeeded", "failed", "completedIndexes", "startTime", "conditions")


def _tidied(status: Obj) -> Obj:
    """Removes the fields that Kubernetes omits: zero counters, empty lists, unset times."""
    for key in _LEFT_OUT_WHEN_EMPTY:
        if key in status and not status[key]:
            del status[key]
    if status.get("failedIndexes") is None:
        status.pop("failedIndexes", None)
    return status
