"""The pod's conditions, with upstream's reasons and messages. Transition times move with the status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api.types import Obj
from longshore.node.pod.memory import Memory, Record

OWN_TYPES: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
"""In the order upstream writes them; whatever others wrote follows."""


def conditions(memory: Memory, phase: str, now: str, *, final: bool) -> list[Obj]:
    old = {c["type"]: c for c in (memory.pod.get("status") or {}).get("conditions") or ()}
    generation = memory.pod["metadata"].get("generation") or 0
    ours = (
        (not final and memory.prepared, "", ""),
        _initialized(memory, phase),
        _ready(memory, phase, old),
        _containers_ready(memory, phase),
    )
    made = []
    for kind, (status, reason, message) in zip(OWN_TYPES, ours, strict=True):
        entry: Obj = {"type": kind}
        if generation:
            entry["observedGeneration"] = generation
        entry["status"] = text = "True" if status else "False"
        entry["lastProbeTime"] = None
        before = old.pop(kind, None)
        same = before is not None and before.get("status") == text
        entry["lastTransitionTime"] = before["lastTransitionTime"] if before is not None and same else now
        if reason:
            entry["reason"] = reason
        if message:
            entry["message"] = message
        made.append(entry)
    if memory.verdict is not None and (extra := memory.verdict.condition) is not None:
        old.setdefault(extra["type"], {**extra, "lastProbeTime": None, "lastTransitionTime": now})
    return made + list(old.values())


def _initialized(memory: Memory, phase: str) -> tuple[bool, str, str]:
    incomplete = [r.facts.name for r in memory.inits if not _done(memory, r)]
    if phase == "Succeeded":
        return True, "PodCompleted", ""
    if not incomplete or memory.initialized:
        return True, "", ""
    return False, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(incomplete)}]"


def _done(memory: Memory, record: Record) -> bool:
    return record.started if record.facts.is_sidecar else record.over and record.code == 0


def _containers_ready(memory: Memory, phase: str) -> tuple[bool, str, str]:
    if phase == "Succeeded":
        return False, "PodCompleted", ""
    if phase == "Failed":
        return False, "PodFailed", ""
    counted = [r for r in memory.inits if r.facts.is_sidecar] + memory.mains if memory.inits else memory.mains
    unready = [r.facts.name for r in counted if not (r.ready and r.running)]
    if unready:
        return False, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return True, "", ""


def _ready(memory: Memory, phase: str, old: dict[str, Obj]) -> tuple[bool, str, str]:
    """Ready containers, and every readiness gate that somebody else opens."""
    ready = _containers_ready(memory, phase)
    gates: Sequence[Obj] = memory.facts.spec.get("readinessGates") or ()
    if not ready[0] or not gates:
        return ready
    closed = []
    for gate in gates:
        kind = gate["conditionType"]
        found = old.get(kind)
        if found is None:
            closed.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif found.get("status") != "True":
            closed.append(
                f'the status of pod readiness gate "{kind}" is not "True", but {found.get("status")}'
            )
    return (False, "ReadinessGatesNotReady", ", ".join(closed)) if closed else ready
