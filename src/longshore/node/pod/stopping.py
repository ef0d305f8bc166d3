"""The way out. Main containers and init containers that still run stop at once and together; sidecars follow
when these are over, the last one first. Each gets its preStop hook, the stop signal and, when the grace
period is over, the kill signal; at least two seconds lie between the signals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.node.pod.memory import Memory, Record
from longshore.node.pod.plan import BeginStop, Hook, Plan, Shorten, Signal

if TYPE_CHECKING:
    from longshore.node.pod.decide import Draft

LEAST_GRACE: Final = 2.0
"""Upstream gives every container so much time after the stop signal."""
_AGAIN: Final = 5.0
"""Seconds after which a container that outlived a kill is killed again."""
_DONE: Final = Plan(why=("nothing of it runs, and nothing will again",), done=True)


def decide(memory: Memory, draft: Draft, now: float) -> Plan:
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
            draft.why.append(f"{record.facts.name} is just being started, and stopped then")
        elif record.stopping is None:
            spent = now - memory.stopping_since if memory.stopping_since is not None else 0.0
            left = grace if record in first else max(grace - spent, 0.0)
            draft.actions.append(BeginStop(record, left, f"Stopping container {record.facts.name}"))
        else:
            if grace < record.stopping.given and record in first:
                draft.actions.append(Shorten(record, grace))
            progress(record, draft, now)
    return draft.plan()


def progress(record: Record, draft: Draft, now: float) -> None:
    """The next step of a container that is on its way out."""
    going, name = record.stopping, record.facts.name
    assert going is not None
    deadline = going.since + going.grace
    if record.facts.pre_stop is not None and going.asked is None:
        if not going.hook and going.grace > 0:
            draft.actions.append(Hook(record, "preStop"))
            draft.why.append(f"{name} runs its preStop hook")
            draft.look(deadline - now)
            return
        if going.hook == "running" and now < deadline:
            draft.look(deadline - now)
            draft.why.append(f"{name} runs its preStop hook")
            return
    if going.asked is None:
        draft.actions.append(Signal(record, "stop"))
        draft.why.append(f"{name} gets SIGTERM")
        draft.look(max(deadline - now, LEAST_GRACE))
        return
    due = max(deadline, going.asked + LEAST_GRACE) if going.killed is None else going.killed + _AGAIN
    if now < due:
        draft.look(due - now)
        draft.why.append(f"{name} has time to end by itself")
    else:
        draft.actions.append(Signal(record, "kill"))
        draft.why.append(f"{name} did not end in time and is killed")
        draft.look(_AGAIN)


def _grace(memory: Memory) -> float:
    if memory.gone:
        return 0.0
    if memory.deleting is not None:
        return memory.delete_grace
    if memory.verdict is not None and memory.verdict.grace is not None:
        return memory.verdict.grace
    return memory.facts.grace


def _reason(memory: Memory) -> str:
    if memory.gone:
        return "it is not in the API any more"
    if memory.deleting is not None:
        return f"it is deleted, with a grace period of {memory.delete_grace:g} s"
    if memory.verdict is not None:
        return f"it fails: {memory.verdict.reason}"
    if memory.terminal:
        return f"it is {memory.terminal} already"
    return "its main containers have ended, and its sidecars stop"
