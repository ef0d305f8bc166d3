"""Pods without a server: the hooks of the resource, with the rules that admit pods."""

from __future__ import annotations

from typing import Any

from longshore.api import codec
from longshore.api.kinds import pod_binding
from longshore.api.types import Obj, copy_of
from longshore.apiserver.admission import pod as admission
from support.hooks import NOW, Registry

CRITICAL = {
    "metadata": {"name": "system-node-critical"},
    "value": 2000001000,
    "preemptionPolicy": "PreemptLowerPriority",
}


def canonical(body: Any, message: str = "core/v1.Pod") -> Obj:
    return codec.from_value(copy_of(body), message).obj


class Pods(Registry):
    def __init__(self) -> None:
        super().__init__("pods")
        self.classes: dict[str, Obj] = {"system-node-critical": CRITICAL}
        self.runtime_classes: dict[str, Obj] = {}

    def _get(self, storage: str, namespace: str, name: str) -> Obj | None:
        if storage == "node.k8s.io/runtimeclasses":
            return self.runtime_classes.get(name)
        return self.classes.get(name) if storage == "scheduling.k8s.io/priorityclasses" else None

    def admit(self, obj: Obj, old: Obj | None) -> None:
        if old is None:
            admission.admit_create(obj, self._get, lambda storage, namespace: self.classes.values())
        else:
            admission.admit_update(obj, old)

    def delete(self, name: str) -> None:
        """Marks a pod that something still holds."""
        pod = self.stored[name] = copy_of(self.stored[name])
        pod["metadata"]["deletionTimestamp"] = NOW

    def bind(self, name: str, binding: Obj) -> Obj:
        bound = pod_binding.bind(self.stored.get(name), binding, namespace="ns", name=name, now=NOW)
        self.stored[name] = bound
        return bound
