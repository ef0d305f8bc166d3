"""The whole status of a pod, from what is remembered of it. Says nothing that is not so: a terminal phase
only when nothing runs any more.
"""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.node.pod.decide import outcome
from longshore.node.pod.memory import Memory
from longshore.node.status.conditions import conditions
from longshore.node.status.containers import container_status

HOST_IP = "127.0.0.1"
_HOST_IPS: list[Obj] = [{"ip": HOST_IP}]


def phase_of(memory: Memory, *, final: bool) -> str:
    if final:
        found = outcome(memory)
        return found or _ended(memory)
    for record in memory.mains:
        if record.state is None and record.last is None:
            return "Pending"
    return "Running"


def _ended(memory: Memory) -> str:
    """Of a pod that was stopped before it came to an outcome of its own."""
    well = all(record.over and record.code == 0 for record in memory.mains)
    return "Succeeded" if well and all(_well(memory, i) for i in range(len(memory.inits))) else "Failed"


def _well(memory: Memory, at: int) -> bool:
    record = memory.inits[at]
    return record.facts.is_sidecar or (record.over and record.code == 0)


def status_of(memory: Memory, engine: str, now: str, *, final: bool) -> Obj:
    """`final` when nothing of the pod runs and nothing will again."""
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
                container_status(memory, record, engine, final=final) for record in memory.inits
            ]
        shown = [container_status(memory, record, engine, final=final) for record in memory.mains]
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
            container_status(memory, record, engine, final=final) for record in memory.ephemerals
        ]
    return made


_OTHERS = ("resourceClaimStatuses", "extendedResourceClaimStatus", "nominatedNodeName")
"""Written by others, kept as they are."""


def _name(status: Obj) -> str:
    name: str = status["name"]
    return name
