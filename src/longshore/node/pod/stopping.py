"""Plans the stop of a pod. Main containers and init containers that still run stop at once and together;
sidecars follow when these have ended, the last one first. Each gets its preStop hook, the stop signal and,
when the grace period is over, the kill signal; at least two seconds lie between the signals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.machinery.reasons import Reason
from longshore.node.pod.memory import ContainerMemory, PodMemory
from longshore.node.pod.plan import BeginStop, Hook, PodPlan, Shorten, Signal

if TYPE_CHECKING:
    from longshore.node.pod.decide import PodDraft

MIN_GRACE_SECONDS: Final = 2.0
"""Seconds that every container has after the stop signal, as upstream."""
_KILL_AGAIN_SECONDS: Final = 5.0
"""Seconds after which a container that outlived a kill is killed again."""
_DONE: Final = PodPlan(why=(Reason("Over"),), done=True)


def decide(memory: PodMemory, draft: PodDraft, now: float) -> PodPlan:
    """Stops what runs; `done` when nothing does."""
    records = memory.records()
    busy = [r for r in records if r.starting or r.running]
    if not busy:
        return _DONE
    draft.why.append(_reason(memory))
    first = [r for r in busy if not r.facts.is_sidecar]
    grace = _grace(memory)
    for record in first or busy[-1:]:
        if record.starting and not record.running:
            draft.because("Starting", container=record.facts.name)
        elif record.stopping is None:
            spent = now - memory.stopping_since if memory.stopping_since is not None else 0.0
            left = grace if record in first else max(grace - spent, 0.0)
            draft.actions.append(BeginStop(record, left, f"Stopping container {record.facts.name}"))
        else:
            if grace < record.stopping.given:
                draft.actions.append(Shorten(record, grace))
            progress(record, draft, now)
    return draft.plan()


def progress(record: ContainerMemory, draft: PodDraft, now: float) -> None:
    """The next step of a stopping container."""
    going, name = record.stopping, record.facts.name
    assert going is not None
    deadline = going.since + going.grace
    if record.facts.pre_stop is not None and going.asked is None:
        if not going.hook and going.grace > 0:
            draft.actions.append(Hook(record, "preStop"))
            draft.because("PreStopHook", container=name)
            draft.look(deadline - now)
            return
        if going.hook == "running" and now < deadline:
            draft.look(deadline - now)
            draft.because("PreStopHook", container=name)
            return
    if going.asked is None:
        draft.actions.append(Signal(record, "stop"))
        draft.because("AskedToStop", container=name)
        draft.look(max(deadline - now, MIN_GRACE_SECONDS))
        return
    due = (
        max(deadline, going.asked + MIN_GRACE_SECONDS)
        if going.killed is None
        else going.killed + _KILL_AGAIN_SECONDS
    )
    if now < due:
        draft.look(due - now)
        draft.because("GracePeriod", container=name, seconds=going.grace)
    else:
        draft.actions.append(Signal(record, "kill"))
        draft.because("Killed", container=name, seconds=going.grace)
        draft.look(_KILL_AGAIN_SECONDS)


def _grace(memory: PodMemory) -> float:
    if memory.gone:
        return 0.0
    if memory.deleting is not None:
        return memory.delete_grace
    if memory.verdict is not None and memory.verdict.grace is not None:
        return memory.verdict.grace
    return memory.facts.grace


def _reason(memory: PodMemory) -> Reason:
    if memory.gone:
        return Reason("Gone")
    if memory.deleting is not None:
        return Reason("Deleted", {"seconds": memory.delete_grace})
    if memory.verdict is not None:
        return Reason(memory.verdict.reason)
    if memory.terminal:
        return Reason(memory.terminal)
    return Reason("MainsEnded")
