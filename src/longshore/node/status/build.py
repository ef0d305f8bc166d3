"""Builds the whole status of a pod from the node's memory. A phase is terminal only when nothing runs any
more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api.types import Obj
from longshore.node.pod.decide import outcome
from longshore.node.pod.memory import ContainerMemory, PodMemory
from longshore.node.status.containers import container_status

HOST_IP = "127.0.0.1"
_HOST_IPS: list[Obj] = [{"ip": HOST_IP}]


def phase_of(memory: PodMemory, *, final: bool) -> str:
    if final:
        found = outcome(memory)
        return found or _ended(memory)
    for record in memory.mains:
        if record.state is None and record.last is None:
            return "Pending"
    return "Running"


def _ended(memory: PodMemory) -> str:
    """The phase of a pod that was stopped before its containers gave it an outcome."""
    well = all(record.over and record.code == 0 for record in memory.mains)
    return "Succeeded" if well and all(_well(memory, i) for i in range(len(memory.inits))) else "Failed"


def _well(memory: PodMemory, at: int) -> bool:
    record = memory.inits[at]
    return record.facts.is_sidecar or (record.over and record.code == 0)


def status_of(memory: PodMemory, runtime: str, now: str, *, final: bool) -> Obj:
    """The status of a pod; `final` if nothing of it runs or will run again."""
    pod = memory.pod
    before = pod.get("status") or {}
    phase = phase_of(memory, final=final)
    made: Obj = {}
    if generation := pod["metadata"].get("generation"):
        made["observedGeneration"] = generation
    made["phase"] = phase
    if not memory.rejected:
        made["conditions"] = conditions(memory, phase, now, final=final)
    elif before.get("conditions"):
        made["conditions"] = before["conditions"]
    if final and memory.verdict is not None:
        made["message"], made["reason"] = memory.verdict.message, memory.verdict.reason
    made["hostIP"], made["hostIPs"] = HOST_IP, _HOST_IPS
    if not memory.rejected:
        made["podIP"], made["podIPs"] = memory.ip, [{"ip": memory.ip}]
    made["startTime"] = memory.start_time
    if not memory.rejected:
        if memory.inits:
            made["initContainerStatuses"] = [
                container_status(memory, record, runtime, final=final) for record in memory.inits
            ]
        shown = [container_status(memory, record, runtime, final=final) for record in memory.mains]
        if len(shown) > 1:
            shown.sort(key=_name)
        made["containerStatuses"] = shown
    if qos := before.get("qosClass"):
        made["qosClass"] = qos
    for key in _OTHERS:
        if key in before:
            made[key] = before[key]
    if memory.ephemerals and not memory.rejected:
        made["ephemeralContainerStatuses"] = [
            container_status(memory, record, runtime, final=final) for record in memory.ephemerals
        ]
    return made


_OTHERS = ("resourceClaimStatuses", "extendedResourceClaimStatus", "nominatedNodeName")
"""Fields that other clients write, kept as they are."""


def _name(status: Obj) -> str:
    name: str = status["name"]
    return name


OWN_TYPES: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
"""The node's conditions in upstream's order; those of other clients follow."""


def conditions(memory: PodMemory, phase: str, now: str, *, final: bool) -> list[Obj]:
    old = {c["type"]: c for c in (memory.pod.get("status") or {}).get("conditions") or ()}
    generation = memory.pod["metadata"].get("generation") or 0
    ours = (
        (not final and memory.prepared, "", ""),
        _initialized(memory, phase),
        _ready_condition(memory, phase, old),
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


def _initialized(memory: PodMemory, phase: str) -> tuple[bool, str, str]:
    incomplete = [r.facts.name for r in memory.inits if not _done(memory, r)]
    if phase == "Succeeded":
        return True, "PodCompleted", ""
    if not incomplete or memory.initialized:
        return True, "", ""
    return False, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(incomplete)}]"


def _done(memory: PodMemory, record: ContainerMemory) -> bool:
    return record.started if record.facts.is_sidecar else record.over and record.code == 0


def _containers_ready(memory: PodMemory, phase: str) -> tuple[bool, str, str]:
    if phase == "Succeeded":
        return False, "PodCompleted", ""
    if phase == "Failed":
        return False, "PodFailed", ""
    counted = [r for r in memory.inits if r.facts.is_sidecar] + memory.mains if memory.inits else memory.mains
    unready = [r.facts.name for r in counted if not (r.ready and r.running)]
    if unready:
        return False, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return True, "", ""


def _ready_condition(memory: PodMemory, phase: str, old: dict[str, Obj]) -> tuple[bool, str, str]:
    """Ready when all containers are ready and every readiness gate is True."""
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
