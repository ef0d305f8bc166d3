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
from longshore.node.pod import backoff, stopping
from longshore.node.pod.facts import restarts
from longshore.node.pod.memory import Memory, Record, Verdict, View, Waiting
from longshore.node.pod.plan import (
    NOTHING,
    Action,
    BeginStop,
    Fail,
    Hook,
    Plan,
    Prepare,
    Probe,
    Start,
    Wait,
)

DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"
_RUNS: Final = Plan(why=(Reason("Running", "runs"),))
_PREPARES: Final = Reason("Prepared", "its volumes and environment are prepared first")
_PREPARING: Final = Reason("Preparing", "its volumes and environment are being prepared")


class Draft:
    """A plan in the making."""

    __slots__ = ("actions", "again", "why")

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.why: list[Reason] = []
        self.again: float | None = None

    def because(self, code: str, words: str, **numbers: Number) -> None:
        self.why.append(Reason(code, words, numbers) if numbers else Reason(code, words))

    def look(self, seconds: float) -> None:
        """Look again in so many seconds at the latest."""
        if self.again is None or seconds < self.again:
            self.again = max(seconds, 0.0)

    def plan(self, *, done: bool = False) -> Plan:
        return Plan(tuple(self.actions), tuple(self.why), self.again, done)


def outcome(memory: Memory) -> str:
    """Succeeded or Failed if nothing of the pod will be started again, else empty. What still runs then (a
    sidecar) is in the way of the phase, not of the outcome."""
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


def decide(view: View) -> Plan:
    """The next actions for the pod, and when to look at it again."""
    memory, now, wall = view.memory, view.now, view.wall
    if memory.gone or memory.deleting is not None or memory.terminal or memory.verdict or memory.rejected:
        return stopping.decide(memory, Draft(), now)
    facts = memory.facts
    if outcome(memory):
        if facts.deadline is not None and _outlived(memory, memory.started_at + facts.deadline):
            return _too_late(facts.deadline, Draft())
        return stopping.decide(memory, Draft(), now)
    if memory.leaving:
        return NOTHING
    draft = Draft()
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


def _outlived(memory: Memory, moment: float) -> bool:
    """Whether a main container ended after this moment: it was stopped for it, by an agent that died."""
    return any(r.state is not None and r.state.finished_at >= moment for r in memory.mains)


def _too_late(deadline: float, draft: Draft) -> Plan:
    draft.actions.append(Fail(Verdict("DeadlineExceeded", DEADLINE_MESSAGE)))
    words = f"active for more than its activeDeadlineSeconds ({deadline:g})"
    draft.because("DeadlineExceeded", words, seconds=deadline)
    return draft.plan()


def _given_up(memory: Memory, draft: Draft, now: float) -> bool:
    """Whether the pod could not start for longer than its annotation allows."""
    patience = memory.facts.fail_unstartable
    if patience is None:
        return False
    assert memory.unstartable_since is not None
    left = memory.unstartable_since + patience - now
    if left > 0:
        draft.look(left)
        return False
    waiting = memory.unprepared or next((r.waiting for r in memory.records() if r.waiting), None)
    reason = waiting.reason if waiting else "Unstartable"
    shown = durations.text(int(patience * 1e9))
    message = f"The pod could not start within {shown}: {waiting.message if waiting else ''}"
    draft.actions.append(Fail(Verdict(reason, message)))
    words = f"could not start within the {shown} of {own_names.FAIL_UNSTARTABLE_AFTER}"
    draft.because("Unstartable", words, seconds=patience)
    return True


def _prepare(memory: Memory, draft: Draft, now: float) -> Plan:
    if memory.preparing:
        draft.why.append(_PREPARING)
    elif memory.retry_at > now:
        draft.look(memory.retry_at - now)
        if memory.unprepared is not None:
            words = f"cannot be prepared yet: {memory.unprepared.message}"
            draft.because("Unprepared", words, failures=memory.failures)
    else:
        return Plan((Prepare(),), (_PREPARES,), draft.again)
    return draft.plan()


def _inits(memory: Memory, draft: Draft, now: float, wall: float) -> bool:
    """Brings init containers forward in their order. True when main containers may run."""
    for record in memory.inits:
        facts = record.facts
        if facts.is_sidecar:
            _keep(memory, record, draft, now, wall)
            if record.started or memory.initialized:
                continue
            words = f"what comes after sidecar {facts.name} waits until it has started"
            draft.because("WaitsForSidecar", words)
            return False
        if memory.initialized or (record.over and record.code == 0):
            continue
        _keep(memory, record, draft, now, wall)
        words = f"what comes after init container {facts.name} waits until it has ended well"
        draft.because("WaitsForInit", words)
        return False
    return True


def _keep(memory: Memory, record: Record, draft: Draft, now: float, wall: float) -> None:
    """The steps for one container that should run."""
    state, facts = record.state, record.facts
    if record.starting:
        draft.because("Starting", f"{facts.name} waits for the engine to start it")
    elif state is None:
        if record.retry_at > now:
            draft.look(record.retry_at - now)
            words = f"{facts.name} did not start, and is tried again after a pause"
            draft.because("StartFailed", words, failures=record.failures)
        else:
            draft.actions.append(Start(record))
            draft.because("ContainerStarted", f"{facts.name} is started")
    elif state.phase == "running":
        _accompany(record, draft, now)
    elif restarts(memory.facts, facts, record.code):
        _restart(memory, record, draft, wall)


def _accompany(record: Record, draft: Draft, now: float) -> None:
    """Hooks and probes of a container that runs, or its end if one of them condemned it."""
    facts = record.facts
    if record.doom is not None and record.stopping is None:
        message, grace = record.doom
        draft.actions.append(BeginStop(record, grace, message))
        draft.because("Unhealthy", message, grace=grace)
    elif record.stopping is not None:
        stopping.progress(record, draft, now)
    elif facts.post_start is not None and not record.hook:
        draft.actions.append(Hook(record, "postStart"))
        draft.because("PostStartHook", f"{facts.name} runs; its postStart hook is next")
    elif facts.has_probes and not record.probed and record.hook != "running":
        draft.actions.append(Probe(record))
        draft.because("Probed", f"{facts.name} runs and is probed")


def _restart(memory: Memory, record: Record, draft: Draft, wall: float) -> None:
    at, following = backoff.due(record)
    name = record.facts.name
    if at > wall:
        shown = durations.text(int(record.backoff * 1e9))
        text = f"back-off {shown} restarting failed container={name} pod={memory.facts.title}"
        if record.waiting is None or record.waiting.message != text:
            draft.actions.append(Wait(record, Waiting("CrashLoopBackOff", text)))
        words = f"{name} ended with {record.code}; {text}"
        draft.because("CrashLoopBackOff", words, exit_code=record.code, seconds=record.backoff)
        draft.look(at - wall)
    else:
        draft.actions.append(Start(record, again=True, backoff=following))
        words = f"{name} ended with {record.code} and is restarted by its restart policy"
        draft.because("Restarted", words, exit_code=record.code, restarts=record.attempt + 1)
