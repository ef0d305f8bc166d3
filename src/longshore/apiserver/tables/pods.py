"""Columns of pods, above all the one word that says how a pod is doing.

The word is built in layers, each of which may overrule the one before: the phase, a reason of the pod
as a whole, what its init containers are stuck on, what its containers say, and deletion last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from longshore.api.facts import conditions as facts
from longshore.api.time import ages
from longshore.api.types import Obj
from longshore.apiserver.tables import cells

_SUCCEEDED: Final = [
    {
        "type": "Completed",
        "status": "True",
        "reason": "Succeeded",
        "message": "The pod has completed successfully.",
    }
]
_FAILED: Final = [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}]
_ROW_CONDITIONS: Final = {"Succeeded": _SUCCEEDED, "Failed": _FAILED}


class _Restarts(msgspec.Struct):
    """How often containers were restarted, and when last."""

    count: int = 0
    last: str = ""

    def add(self, container: Obj) -> None:
        self.count += container.get("restartCount", 0)
        ended = container.get("lastState", {}).get("terminated")
        finished = (ended or {}).get("finishedAt") or ""
        # Times are stored in one form (UTC, whole seconds), so text order is time order.
        self.last = max(self.last, finished)

    def text(self, now: datetime) -> str:
        if self.count and self.last and ages.moment(self.last):
            return f"{self.count} ({ages.age(self.last, now)} ago)"
        return str(self.count)


class _Init(msgspec.Struct):
    """The state of the init containers. `stuck` is the pod's status word while they are not finished."""

    stuck: str = ""
    ready: int = 0


def _exit_text(ended: Obj) -> str:
    """How a container ended: the runtime's reason, else its signal, else its exit code."""
    if reason := ended.get("reason"):
        return str(reason)
    if signal := ended.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _init(
    statuses: Sequence[Obj], sidecars: frozenset[str], total: int, all_: _Restarts, kept: _Restarts
) -> _Init:
    """Walks the init containers in order, up to the first that the pod still waits for.

    `all_` counts restarts of all of them, `kept` only of sidecars, which run on after the start.
    """
    out = _Init()
    for index, container in enumerate(statuses):
        sidecar = container.get("name") in sidecars
        all_.add(container)
        if sidecar:
            kept.add(container)
        state = container.get("state", {})
        ended = state.get("terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if sidecar and container.get("started"):
            out.ready += bool(container.get("ready"))
            continue
        waiting = (state.get("waiting") or {}).get("reason")
        if ended is not None:
            out.stuck = "Init:" + _exit_text(ended)
        elif waiting and waiting != "PodInitializing":
            out.stuck = "Init:" + waiting
        else:
            out.stuck = f"Init:{index}/{total}"
        break
    return out


def _main(statuses: Sequence[Obj], word: str, ready_condition: bool, restarts: _Restarts) -> tuple[str, int]:
    """The status word after the main containers, and how many of these are ready.

    The word of the first container wins, so containers are read from the last to the first.
    """
    ready = 0
    for container in reversed(statuses):
        restarts.add(container)
        state = container.get("state", {})
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason"):
            word = waiting["reason"]
        elif ended is not None:
            word = _exit_text(ended)
        elif container.get("ready") and state.get("running") is not None:
            ready += 1
    if word == "Completed" and ready:
        word = "Running" if ready_condition else "NotReady"
    return word, ready


def _gated(conditions: Iterable[Obj]) -> bool:
    return any(c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in conditions)


def _pod(pod: Obj, now: datetime) -> list[Any]:
    metadata, spec, status = pod["metadata"], pod.get("spec", {}), pod.get("status", {})
    phase, reason = status.get("phase", ""), status.get("reason", "")
    conditions = status.get("conditions") or ()
    inits = spec.get("initContainers") or ()
    sidecars = frozenset(c["name"] for c in inits if c.get("restartPolicy") == "Always")

    word = "SchedulingGated" if _gated(conditions) else reason or phase
    restarts, sidecar_restarts = _Restarts(), _Restarts()
    init = _init(status.get("initContainerStatuses") or (), sidecars, len(inits), restarts, sidecar_restarts)
    word = init.stuck or word
    ready = init.ready
    if not init.stuck or facts.is_true(conditions, "Initialized"):
        restarts = sidecar_restarts
        is_ready = facts.is_true(conditions, "Ready")
        word, running = _main(status.get("containerStatuses") or (), word, is_ready, restarts)
        ready += running
    if metadata.get("deletionTimestamp"):
        if reason == "NodeLost":
            word = "Unknown"
        elif phase not in _ROW_CONDITIONS:
            word = "Terminating"

    ips = status.get("podIPs") or ()
    return [
        cells.name_of(pod),
        f"{ready}/{len(spec.get('containers') or ()) + len(sidecars)}",
        word,
        restarts.text(now),
        cells.age_of(pod, now),
        (ips[0].get("ip") if ips else "") or cells.NONE,
        spec.get("nodeName") or cells.NONE,
        status.get("nominatedNodeName") or cells.NONE,
        _gates(spec.get("readinessGates") or (), conditions),
    ]


def _gates(gates: Sequence[Obj], conditions: Sequence[Obj]) -> str:
    if not gates:
        return cells.NONE
    passed = sum(facts.is_true(conditions, g.get("conditionType", "")) for g in gates)
    return f"{passed}/{len(gates)}"


def _pod_conditions(pod: Obj) -> list[Obj] | None:
    return _ROW_CONDITIONS.get(pod.get("status", {}).get("phase", ""))


def _pod_template(obj: Obj, now: datetime) -> list[Any]:
    template = obj.get("template", {})
    names, images = cells.containers_of(template.get("spec", {}))
    return [cells.name_of(obj), names, images, cells.labels_text(template.get("metadata", {}).get("labels"))]


PRINTERS: Final = {
    ("", "Pod"): cells.Printer(
        (
            cells.NAME,
            cells.column("Ready", "Containers that are ready, of all."),
            cells.column("Status", "How the pod is doing, in one word."),
            cells.column("Restarts", "How often containers were restarted, and when last."),
            cells.AGE,
            cells.wide("IP", "Address of the pod."),
            cells.wide("Node", "Node the pod runs on."),
            cells.wide("Nominated Node", "Node where room is being made for the pod."),
            cells.wide("Readiness Gates", "Further conditions of readiness that are met, of all."),
        ),
        _pod,
        _pod_conditions,
    ),
    ("", "PodTemplate"): cells.Printer(
        (
            cells.NAME,
            cells.column("Containers", "Names of the containers in the pod template."),
            cells.column("Images", "Images of the containers in the pod template."),
            cells.column("Pod Labels", "Labels of the pods made from the template."),
        ),
        _pod_template,
    ),
}
