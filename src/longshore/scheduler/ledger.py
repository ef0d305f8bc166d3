"""Who is where and what is left: nodes, what they can give, and every pod that counts on them.

A pod counts from the moment a scheduler assumes a node for it, before the binding is written, until it has
ended or is gone; so quick decisions never give the same room twice. Kept up to date change by change, never
counted again. Knows nothing of queues, watches and writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from longshore.api.types import Obj
from longshore.scheduler import amounts
from longshore.scheduler.amounts import PODS, Amounts
from longshore.scheduler.fitting.pod_shape import Pod, Port, Shape
from longshore.scheduler.fitting.verdict import Failure

_EVERY_ADDRESS: Final = "0.0.0.0"
_REMEMBERED: Final = 8192


class Node:
    """One node and the pods that count on it. Without `obj` it is only a name that pods mention."""

    __slots__ = (
        "allocatable",
        "compared_cpu",
        "compared_memory",
        "labels",
        "name",
        "nominated",
        "obj",
        "pods",
        "ports",
        "remembered",
        "taints",
        "unschedulable",
        "used",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.obj: Obj | None = None
        self.labels: dict[str, str] = {}
        self.taints: tuple[Obj, ...] = ()
        self.unschedulable = False
        self.allocatable: Amounts = {}
        self.used: Amounts = {}
        self.compared_cpu = self.compared_memory = 0
        self.pods: dict[str, Pod] = {}
        self.ports: dict[Port, int] = {}
        self.nominated: dict[str, Pod] = {}
        """Pods that others make room for here."""
        self.remembered: dict[Shape, Failure | None] = {}
        """The verdicts of selectors, taints and such for each shape; valid until the node itself changes."""

    def describe(self, obj: Obj) -> None:
        """Takes over what the Node object says."""
        self.obj = obj
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        self.labels = obj["metadata"].get("labels") or {}
        self.taints = tuple(spec.get("taints") or ())
        self.unschedulable = bool(spec.get("unschedulable"))
        self.allocatable = amounts.parse(status.get("allocatable") or status.get("capacity"))
        self.remembered = {}

    def remember(self, shape: Shape, failure: Failure | None) -> None:
        if len(self.remembered) >= _REMEMBERED:
            self.remembered.clear()
        self.remembered[shape] = failure

    def add(self, pod: Pod) -> None:
        self.pods[pod.uid] = pod
        shape, used = pod.shape, self.used
        for name, amount in shape.requests.items():
            used[name] = used.get(name, 0) + amount
        self.compared_cpu += shape.compared_cpu
        self.compared_memory += shape.compared_memory
        for port in shape.ports:
            self.ports[port] = self.ports.get(port, 0) + 1

    def remove(self, pod: Pod) -> None:
        pod = self.pods.pop(pod.uid)  # what was added, even when the pod was resized since
        shape, used = pod.shape, self.used
        for name, amount in shape.requests.items():
            used[name] -= amount
        self.compared_cpu -= shape.compared_cpu
        self.compared_memory -= shape.compared_memory
        for port in shape.ports:
            self.ports[port] -= 1
            if not self.ports[port]:
                del self.ports[port]

    def left(self, name: str) -> int:
        """How much of a resource nobody counts on; for `pods`, how many more may come."""
        if name == PODS:
            return self.allocatable.get(PODS, 0) - len(self.pods)
        return self.allocatable.get(name, 0) - self.used.get(name, 0)

    def taken(self, ports: Iterable[Port]) -> Port | None:
        """The first of these ports that is in use here."""
        for address, protocol, number in ports:
            for other, other_protocol, other_number in self.ports:
                if (protocol, number) == (other_protocol, other_number) and (
                    address == other or _EVERY_ADDRESS in (address, other)
                ):
                    return address, protocol, number
        return None

    def copy(self) -> Node:
        """One to try things on."""
        new = Node(self.name)
        new.obj, new.labels, new.taints, new.unschedulable = (
            self.obj,
            self.labels,
            self.taints,
            self.unschedulable,
        )
        new.allocatable, new.used, new.pods, new.ports = (
            self.allocatable,
            dict(self.used),
            dict(self.pods),
            dict(self.ports),
        )
        new.compared_cpu, new.compared_memory = self.compared_cpu, self.compared_memory
        new.nominated, new.remembered = self.nominated, self.remembered
        return new


class Ledger:
    """All nodes of the cluster."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        """Nodes that exist, oldest first."""
        self.pods: dict[str, Pod] = {}
        """Every pod that counts somewhere, by uid."""
        self.assumed: set[str] = set()
        """The pods whose binding is not seen yet."""
        self.repelling: dict[str, Pod] = {}
        """The pods with required anti-affinity: they may keep others off a node."""
        self._mentioned: dict[str, Node] = {}
        self._nominated_on: dict[str, Node] = {}

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    # ---- nodes

    def put_node(self, obj: Obj) -> Node:
        name = obj["metadata"]["name"]
        node = self.nodes.get(name) or self._mentioned.pop(name, None) or Node(name)
        node.describe(obj)
        self.nodes[name] = node
        return node

    def remove_node(self, name: str) -> None:
        """Pods that are still bound to it count again when it comes back."""
        node = self.nodes.pop(name, None)
        if node is not None and node.pods:
            node.obj, node.remembered = None, {}
            self._mentioned[name] = node

    # ---- pods

    def assume(self, pod: Pod, node: str) -> None:
        """From now on the pod counts there, although nothing is written yet."""
        self._add(pod, node)
        self.assumed.add(pod.uid)

    def confirm(self, pod: Pod, node: str) -> bool:
        """The pod is bound to `node`. False if it counted there before in the same way."""
        known = self.pods.get(pod.uid)
        self.assumed.discard(pod.uid)
        if known is not None:
            if known.node == node and known.shape is pod.shape:
                known.obj = pod.obj
                return False
            self.remove(pod.uid)
        self._add(pod, node)
        return True

    def still(self, pod: Pod, obj: Obj) -> None:
        """A pod that counts is bound where it counts, and asks for the same: this is its latest state."""
        pod.obj = obj
        self.assumed.discard(pod.uid)

    def remove(self, uid: str) -> Pod | None:
        """The pod counts nowhere any more. None if it did not before."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return None
        self.assumed.discard(uid)
        self.repelling.pop(uid, None)
        node = self.nodes.get(pod.node) or self._mentioned[pod.node]
        node.remove(pod)
        if node.obj is None and not node.pods:
            self._mentioned.pop(node.name, None)
        pod.node = ""
        return pod

    def forget(self, uid: str) -> None:
        """The assumption was wrong: the binding failed. A binding that was seen stays."""
        if uid in self.assumed:
            self.remove(uid)

    def nominate(self, pod: Pod, node: str) -> None:
        self.withdraw(pod.uid)
        if node in self.nodes:
            self._nominated_on[pod.uid] = self.nodes[node]
            self.nodes[node].nominated[pod.uid] = pod

    def withdraw(self, uid: str) -> None:
        """Nobody makes room for the pod any more, not even on a node that is away."""
        node = self._nominated_on.pop(uid, None)
        if node is not None:
            node.nominated.pop(uid, None)

    def _add(self, pod: Pod, name: str) -> None:
        node = self.nodes.get(name) or self._mentioned.get(name)
        if node is None:
            node = self._mentioned[name] = Node(name)
        node.add(pod)
        pod.node = name
        self.pods[pod.uid] = pod
        if pod.shape.affinity is not None and pod.shape.affinity.repels:
            self.repelling[pod.uid] = pod
