"""The facts of a pod's spec that schedulers read, computed once for all pods with equal specs.

Thousands of pods come from one template. Their specs differ in a hostname or an environment variable, which
no scheduler reads; the rest is encoded to a few bytes, and equal bytes share one `Shape`. Shapes are compared
by identity and never change, so results for a shape can be cached.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, TypeAlias

from longshore.api import types
from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key, key_of
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts
from longshore.scheduler.fitting import node_selection
from longshore.scheduler.fitting.affinity import Affinity
from longshore.scheduler.fitting.spreading import Constraint, constraints_of

Port: TypeAlias = tuple[str, str, int]
"""Address, protocol, number."""
_MAX_SHAPES: Final = 4096
_EVERY_ADDRESS: Final = "0.0.0.0"


class Shape:
    """All that counts for the placement of a pod, except its name, its labels and its priority."""

    __slots__ = (
        "affinity",
        "compared_cpu",
        "compared_memory",
        "plain",
        "ports",
        "preempts",
        "preferred",
        "requests",
        "selects",
        "spread",
        "tolerations",
        "uses_labels",
    )

    def __init__(self, spec: Obj, namespace: str, labels: Mapping[str, str]) -> None:
        self.requests: Amounts = amounts.requests(spec)
        self.compared_cpu, self.compared_memory = amounts.unasked(spec)
        self.selects = node_selection.required(spec)
        self.preferred = node_selection.preferred(spec)
        self.tolerations: tuple[Obj, ...] = tuple(spec.get("tolerations") or ())
        self.ports: tuple[Port, ...] = tuple(_ports(spec))
        self.affinity = Affinity.of(spec, namespace, labels)
        self.spread: tuple[Constraint, ...] = constraints_of(spec, labels)
        self.preempts = spec.get("preemptionPolicy") != "Never"
        self.uses_labels = self.affinity is not None or bool(self.spread)
        self.plain = not self.ports and not self.uses_labels


def _ports(spec: Obj) -> list[Port]:
    found = []
    for part in ("containers", "initContainers"):
        for container in spec.get(part) or ():
            if part == "initContainers" and container.get("restartPolicy") != "Always":
                continue
            for port in container.get("ports") or ():
                if port.get("hostPort"):
                    address = port.get("hostIP") or _EVERY_ADDRESS
                    found.append((address, port.get("protocol") or "TCP", port["hostPort"]))
    return found


class Pod:
    """One pod as schedulers see it. `obj` is its latest state."""

    __slots__ = ("key", "node", "obj", "priority", "shape", "uid")

    def __init__(self, obj: Obj, shape: Shape) -> None:
        self.obj, self.shape = obj, shape
        self.key: Key = key_of(obj)
        self.uid: str = obj["metadata"]["uid"]
        self.priority: int = obj["spec"].get("priority") or 0
        self.node = ""
        """The node on which it counts, by binding or by assumption; empty if none."""

    @property
    def labels(self) -> dict[str, str]:
        return self.obj["metadata"].get("labels") or {}

    @property
    def started(self) -> str:
        """The start, which ranks pods of equal priority: evicting the last to start loses the least work."""
        status: Obj = self.obj.get("status") or {}
        moment: str = status.get("startTime") or self.obj["metadata"]["creationTimestamp"]
        return moment


class Shapes:
    """The shapes in use; the oldest is dropped first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Shape] = OrderedDict()

    def pod(self, obj: Obj) -> Pod:
        return Pod(obj, self.of(obj))

    def of(self, obj: Obj) -> Shape:
        signature = _signature(obj)
        shape = self._kept.get(signature)
        if shape is None:
            meta = obj["metadata"]
            shape = Shape(obj["spec"], meta.get("namespace") or "", meta.get("labels") or {})
            self._kept[signature] = shape
            if len(self._kept) > _MAX_SHAPES:
                self._kept.popitem(last=False)
        return shape


def _signature(obj: Obj) -> bytes:
    spec = obj["spec"]
    parts = [(c.get("resources"), c.get("ports")) for c in spec["containers"]]
    get = spec.get
    inits = get("initContainers")
    affinity, spread = get("affinity"), get("topologySpreadConstraints")
    rest: list[object] = [
        parts,
        get("nodeSelector"),
        affinity,
        get("tolerations"),
        get("overhead"),
        get("resources"),
        get("preemptionPolicy"),
        spread,
    ]
    if inits:
        rest.append([(c.get("resources"), c.get("ports"), c.get("restartPolicy")) for c in inits])
    if affinity or spread:
        meta = obj["metadata"]
        rest += (meta.get("namespace"), meta.get("labels"))
    return types.encode(rest)
