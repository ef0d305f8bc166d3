"""A server for pods alone, as small as can be: decode, default, admit, prepare, check, keep."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from longshore.api import codec
from longshore.api.kinds import pod_binding, table
from longshore.api.patch import merge_patch
from longshore.api.patch import strategic as strategic_patch
from longshore.api.types import Obj, copy_of
from longshore.apiserver.admission import pod as admission
from support import hooks
from support.places import RECORDED

ROW = next(row for row in table.RESOURCES if row.kind == "Pod")
VECTORS = RECORDED / "vectors/api"
NOW = "2026-01-02T03:04:05Z"
UID = "11111111-2222-3333-4444-555555555555"
CLASSES: dict[str, Obj] = {
    "system-node-critical": {
        "metadata": {"name": "system-node-critical"},
        "value": 2000001000,
        "preemptionPolicy": "PreemptLowerPriority",
    }
}


def canonical(body: Any, message: str = "core/v1.Pod") -> Obj:
    return codec.from_value(copy_of(body), message).obj


@dataclass
class Pods:
    """One namespace of pods. Every call answers the pod or raises what a client would see."""

    stored: dict[str, Obj] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    classes: dict[str, Obj] = field(default_factory=lambda: dict(CLASSES))
    runtime_classes: dict[str, Obj] = field(default_factory=dict)

    def _get(self, storage: str, namespace: str, name: str) -> Obj | None:
        if storage == "node.k8s.io/runtimeclasses":
            return self.runtime_classes.get(name)
        return self.classes.get(name) if storage == "scheduling.k8s.io/priorityclasses" else None

    def create(self, body: Obj) -> Obj:
        pod = hooks.decoded(ROW, body)
        meta = pod["metadata"]
        admission.admit_create(pod, self._get, lambda storage, namespace: self.classes.values())
        meta |= {"namespace": "ns", "uid": UID, "creationTimestamp": NOW, "generation": 1}
        ROW.strategy.default(pod)
        hooks.create(ROW, pod, NOW)
        self.warnings = ROW.strategy.warnings_create(pod)
        self.stored[meta["name"]] = pod
        return pod

    def replace(self, body: Obj, subresource: str = "") -> Obj:
        pod = hooks.decoded(ROW, body)
        meta = pod["metadata"]
        old = self.stored[meta["name"]]
        if not subresource:
            admission.admit_update(pod, old)
        for key in ("uid", "namespace", "creationTimestamp", "generation"):
            meta[key] = old["metadata"][key]
        ROW.strategy.default(pod)
        hooks.update(ROW, pod, old, NOW, subresource)
        self.stored[meta["name"]] = pod
        return pod

    def patch(self, name: str, patch: Obj, subresource: str = "", *, strategic: bool = False) -> Obj:
        """A merge patch, or a strategic one."""
        old = copy_of(self.stored[name])
        new = (
            strategic_patch.merged(old, patch, "core/v1.Pod") if strategic else merge_patch.merged(old, patch)
        )
        return self.replace(new, subresource)

    def delete(self, name: str) -> None:
        """Marks a pod that something still holds."""
        pod = copy_of(self.stored[name])
        pod["metadata"]["deletionTimestamp"] = NOW
        self.stored[name] = pod

    def bind(self, name: str, binding: Obj) -> Obj:
        bound = pod_binding.bind(self.stored.get(name), binding, namespace="ns", name=name, now=NOW)
        self.stored[name] = bound
        return bound


def recorded(theme: str) -> list[Obj]:
    """The exchanges of a recorded theme."""
    exchanges: list[Obj] = json.loads((VECTORS / f"{theme}.json").read_text())
    return exchanges


def headers(texts: list[str]) -> list[str]:
    """Warnings as they stand in `Warning:` headers."""
    return ['299 - "' + text.replace('"', '\\"') + '"' for text in texts]


def normal(value: Any) -> Any:
    """A recorded or made object with what differs from run to run folded."""
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items() if k not in ("managedFields", "resourceVersion")}
    if isinstance(value, list):
        return [normal(v) for v in value]
    if isinstance(value, str):
        text = value.replace(UID, "<uid>").replace(NOW, "<time>")
        text = re.sub(r"\n@@ -.*", "\n<diff>", text, flags=re.S)
        return re.sub(r"<(uid|rv):\w+>", r"<\1>", "<ns>" if text == "ns" else text).replace("/ns/", "/<ns>/")
    return value
