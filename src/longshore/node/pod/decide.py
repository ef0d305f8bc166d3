"""The next steps of a pod. A pure function of its view: no I/O, no clock, no dice.

First the ends: a pod that is deleted, has a verdict or has run to its outcome only stops (`stopping.py`).
Then the order of a start: volumes, init containers one by one, sidecars as soon as their turn comes, then all
main containers. Restarts follow the restart policy, after a back-off. Ephemeral containers run beside all of
them, once, and hold nothing up.
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import own_names
from longshore.api.time import durations
from longshore.machinery.reasons import Number, Reason
from longshore.node.pod import backoff, plan, stopping
from longshore.node.pod.facts import restarts
from longshore.node.pod.memory import ContainerMemory, PodMemory, PodVerdict, PodView, Waiting
from longshore.node.pod.plan import NOTHING, Action, PodPlan

DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"
_RUNS: Final = PodPlan(why=(Reason("Running"),))
_PREPARES: Final = Reason("Prepared")
_PREPARING: Final = Reason("Preparing")


class PodDraft:
    """A plan in the making."""

    __slots__ = ("actions", "again", "why")

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.why: list[Reason] = []
        self.again: float | None = None

    def because(self, code: str, **numbers: Number) -> None:
        self.why.append(Reason(code, numbers))

    def look(self, seconds: float) -> None:
        """Asks for another sync in at most `seconds`."""
        if self.again is None or seconds < self.again:
            self.again = max(seconds, 0.0)

    def plan(self, *, done: bool = False) -> PodPlan:
        return PodPlan(tuple(self.actions), tuple(self.why), self.again, done)


def outcome(memory: PodMemory) -> str:
    """Succeeded or Failed if nothing of the pod will be started again, else empty. A sidecar that still runs
    delays the phase, not the outcome."""
    if memory.terminal:
        return memory.terminal
    if memory.verdict is not None or memory.rejected:
        return "Failed"
    facts = memory.facts
    for record in memory.inits:
        if record.facts.is_sidecar or not record.over or record.code == 0:
            continue
        if not restarts(facts, record.facts, record.code):
            return "Failed"
    failed = False
    for record in memory.mains:
        state = record.state
        if state is None or state.phase == "running" or record.starting:
            return ""
        code = record.code
        if restarts(facts, record.facts, code):
            return ""
        failed = failed or code != 0
    return "Failed" if failed else "Succeeded"


def decide(view: PodView) -> PodPlan:
    """The next actions for the pod, and when to look at it again."""
    memory, now, wall = view.memory, view.now, view.wall
    if memory.gone or memory.deleting is not None or memory.terminal or memory.verdict or memory.rejected:
        return stopping.decide(memory, PodDraft(), now)
    facts = memory.facts
    if outcome(memory):
        if facts.deadline is not None and _outlived(memory, memory.started_at + facts.deadline):
            return _too_late(facts.deadline, PodDraft())
        return stopping.decide(memory, PodDraft(), now)
    if memory.leaving:
        return NOTHING
    draft = PodDraft()
    if facts.deadline is not None:
        left = memory.started_at + facts.deadline - wall
        if left <= 0:
            return _too_late(facts.deadline, draft)
        draft.look(left)
    if memory.unstartable_since is not None and _given_up(memory, draft, now):
        return draft.plan()
    if not memory.prepared:
        return _prepare(memory, draft, now)
    for record in memory.ephemerals:
        _keep(memory, record, draft, now, wall)
    if not memory.inits or _inits(memory, draft, now, wall):
        for record in memory.mains:
            _keep(memory, record, draft, now, wall)
    if not draft.actions and not draft.why and draft.again is None:
        return _RUNS
    return draft.plan()


def _outlived(memory: PodMemory, moment: float) -> bool:
    """Whether a main container ended after the deadline, for which an earlier agent stopped it."""
    return any(r.state is not None and r.state.finished_at >= moment for r in memory.mains)


def _too_late(deadline: float, draft: PodDraft) -> PodPlan:
    draft.actions.append(plan.Fail(PodVerdict("DeadlineExceeded", DEADLINE_MESSAGE)))
    draft.because("DeadlineExceeded", seconds=deadline)
    return draft.plan()


def _given_up(memory: PodMemory, draft: PodDraft, now: float) -> bool:
    """Whether the pod could not start for longer than its annotation allows."""
    patience = memory.facts.fail_unstartable
    if patience is None:
        return False
    assert memory.unstartable_since is not None
    left = memory.unstartable_since + patience - now
    if left > 0 and not memory.never_starts:
        draft.look(left)
        return False
    waiting = memory.unprepared or next((r.waiting for r in memory.records() if r.waiting), None)
    reason = waiting.reason if waiting else "Unstartable"
    said = waiting.message if waiting else ""
    if memory.never_starts:
        condition = {"type": own_names.UNSTARTABLE, "status": "True", "reason": reason, "message": said}
        draft.actions.append(
            plan.Fail(PodVerdict(reason, f"The pod cannot start: {said}", condition=condition))
        )
        draft.because("NeverStarts")
        return True
    shown = durations.text(int(patience * 1e9))
    message = f"The pod could not start within {shown}: {said}"
    draft.actions.append(plan.Fail(PodVerdict(reason, message)))
    draft.because("Unstartable", seconds=patience, patience=shown)
    return True


def _prepare(memory: PodMemory, draft: PodDraft, now: float) -> PodPlan:
    if memory.preparing:
        draft.why.append(_PREPARING)
    elif memory.retry_at > now:
        draft.look(memory.retry_at - now)
        if memory.unprepared is not None:
            draft.because("Unprepared", message=memory.unprepared.message, failures=memory.failures)
    else:
        return PodPlan((plan.Prepare(),), (_PREPARES,), draft.again)
    return draft.plan()


def _inits(memory: PodMemory, draft: PodDraft, now: float, wall: float) -> bool:
    """Plans the init containers in their order. True when main containers may run."""
    for record in memory.inits:
        facts = record.facts
        if facts.is_sidecar:
            _keep(memory, record, draft, now, wall)
            if record.started or memory.initialized:
                continue
            draft.because("WaitsForSidecar", container=facts.name)
            return False
        if memory.initialized or (record.over and record.code == 0):
            continue
        _keep(memory, record, draft, now, wall)
        draft.because("WaitsForInit", container=facts.name)
        return False
    return True


def _keep(memory: PodMemory, record: ContainerMemory, draft: PodDraft, now: float, wall: float) -> None:
    """The steps for one container that should run."""
    state, facts = record.state, record.facts
    if record.starting:
        draft.because("Starting", container=facts.name)
    elif state is None:
        if record.retry_at > now:
            draft.look(record.retry_at - now)
            draft.because("StartFailed", container=facts.name, failures=record.failures)
        else:
            draft.actions.append(plan.Start(record))
            draft.because("ContainerStarted", container=facts.name)
    elif state.phase == "running":
        _accompany(record, draft, now)
    elif restarts(memory.facts, facts, record.code):
        _restart(memory, record, draft, wall)


def _accompany(record: ContainerMemory, draft: PodDraft, now: float) -> None:
    """Plans hooks and probes of a running container, or its stop if a hook or probe requires one."""
    facts = record.facts
    if record.doom is not None and record.stopping is None:
        message, grace = record.doom
        draft.actions.append(plan.BeginStop(record, grace, message))
        draft.because("Unhealthy", message=message, grace=grace)
    elif record.stopping is not None:
        stopping.progress(record, draft, now)
    elif facts.post_start is not None and not record.hook:
        draft.actions.append(plan.Hook(record, "postStart"))
        draft.because("PostStartHook", container=facts.name)
    elif facts.has_probes and not record.probed and record.hook != "running":
        draft.actions.append(plan.Probe(record))
        draft.because("Probed", container=facts.name)


def _restart(memory: PodMemory, record: ContainerMemory, draft: PodDraft, wall: float) -> None:
    at, following = backoff.due(record)
    name = record.facts.name
    if at > wall:
        shown = durations.text(int(record.backoff * 1e9))
        text = f"back-off {shown} restarting failed container={name} pod={memory.facts.title}"
        if record.waiting is None or record.waiting.message != text:
            draft.actions.append(plan.Wait(record, Waiting("CrashLoopBackOff", text)))
        numbers: dict[str, Number] = {"container": name, "exit_code": record.code, "seconds": record.backoff}
        draft.because("CrashLoopBackOff", message=text, **numbers)
        draft.look(at - wall)
    else:
        draft.actions.append(plan.Start(record, again=True, backoff=following))
        draft.because("Restarted", container=name, exit_code=record.code, restarts=record.attempt + 1)
