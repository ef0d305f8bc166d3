"""The ledger: nodes, their capacity, and every pod that counts on them.

A pod counts from the moment a scheduler assumes a node for it, before the binding is written, until it has
ended or is deleted; so the same room is never given twice. Updated change by change, never recounted.
Independent of queues, watches and writes.
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
_MAX_RESULTS: Final = 8192


class Node:
    """One node and the pods that count on it. Without `obj`, only the name is known, from specs of pods."""

    __slots__ = (
        "affine",
        "allocatable",
        "compared_cpu",
        "compared_memory",
        "judged",
        "labels",
        "name",
        "nominated",
        "obj",
        "pods",
        "ports",
        "remembered",
        "scored",
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
        self.affine = 0
        """The number of pods on the node that have an affinity."""
        self.pods: dict[str, Pod] = {}
        self.ports: dict[Port, int] = {}
        self.nominated: dict[str, Pod] = {}
        """Pods for which pods on this node are being evicted."""
        self.remembered: dict[Shape, Failure | None] = {}
        """Results of selectors, taints and such for each shape; valid until the node itself changes."""
        self.judged: dict[Shape, Failure | None] = {}
        """Results of all filters, for shapes whose result depends on this node alone. Valid until the node or
        its pods change, as is `scored`: the scores of shapes for which only resources count."""
        self.scored: dict[Shape, float] = {}

    def describe(self, obj: Obj) -> None:
        """Takes labels, taints and capacity from the Node object."""
        self.obj = obj
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        self.labels = obj["metadata"].get("labels") or {}
        self.taints = tuple(spec.get("taints") or ())
        self.unschedulable = bool(spec.get("unschedulable"))
        self.allocatable = amounts.parse(status.get("allocatable") or status.get("capacity"))
        self.remembered, self.judged, self.scored = {}, {}, {}

    def remember(self, shape: Shape, failure: Failure | None) -> None:
        if len(self.remembered) >= _MAX_RESULTS:
            self.remembered.clear()
        self.remembered[shape] = failure

    def judge(self, shape: Shape, failure: Failure | None) -> Failure | None:
        """Keeps the result of all filters, and returns it."""
        if len(self.judged) >= _MAX_RESULTS:
            self.judged = {}
        self.judged[shape] = failure
        return failure

    def add(self, pod: Pod) -> None:
        self.pods[pod.uid] = pod
        self.judged, self.scored = {}, {}
        shape, used = pod.shape, self.used
        self.affine += shape.affinity is not None
        for name, amount in shape.requests.items():
            used[name] = used.get(name, 0) + amount
        self.compared_cpu += shape.compared_cpu
        self.compared_memory += shape.compared_memory
        for port in shape.ports:
            self.ports[port] = self.ports.get(port, 0) + 1

    def remove(self, pod: Pod) -> None:
        pod = self.pods.pop(pod.uid)  # as it was added, although it may have been resized since
        self.judged, self.scored = {}, {}
        shape, used = pod.shape, self.used
        self.affine -= shape.affinity is not None
        for name, amount in shape.requests.items():
            used[name] -= amount
        self.compared_cpu -= shape.compared_cpu
        self.compared_memory -= shape.compared_memory
        for port in shape.ports:
            self.ports[port] -= 1
            if not self.ports[port]:
                del self.ports[port]

    def left(self, name: str) -> int:
        """The free amount of a resource; for `pods`, how many more pods fit."""
        if name == PODS:
            return self.allocatable.get(PODS, 0) - len(self.pods)
        return self.allocatable.get(name, 0) - self.used.get(name, 0)

    def taken(self, ports: Iterable[Port]) -> Port | None:
        """The first of these ports that is in use on the node; None if none is."""
        for address, protocol, number in ports:
            for other, other_protocol, other_number in self.ports:
                if (protocol, number) == (other_protocol, other_number) and (
                    address == other or _EVERY_ADDRESS in (address, other)
                ):
                    return address, protocol, number
        return None

    def copy(self) -> Node:
        """A copy for trials."""
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
        new.nominated, new.remembered, new.affine = self.nominated, self.remembered, self.affine
        return new


class Ledger:
    """All nodes of the cluster and the pods on them."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        """Nodes that exist, oldest first."""
        self.pods: dict[str, Pod] = {}
        """Every pod that counts on a node, by uid."""
        self.assumed: set[str] = set()
        """The pods whose binding the watch has not shown yet."""
        self.repelling: dict[str, Pod] = {}
        """The pods with required anti-affinity, which may keep other pods off a node."""
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
        """Removes a node. Pods bound to it count again if the node comes back."""
        node = self.nodes.pop(name, None)
        if node is not None and node.pods:
            node.obj, node.remembered = None, {}
            self._mentioned[name] = node

    # ---- pods

    def assume(self, pod: Pod, node: str) -> None:
        """Counts the pod on the node from now on, before its binding is written."""
        self._add(pod, node)
        self.assumed.add(pod.uid)

    def confirm(self, pod: Pod, node: str) -> bool:
        """Counts a pod bound to `node`. False if it counted there with the same shape before."""
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
        """Updates the state of a pod that is bound where it counts and whose requests are unchanged."""
        pod.obj = obj
        self.assumed.discard(pod.uid)

    def remove(self, uid: str) -> Pod | None:
        """Removes the pod. Returns it; None if it did not count."""
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
        """Undoes an assumption, because the binding failed. A binding that was seen stays."""
        if uid in self.assumed:
            self.remove(uid)

    def nominate(self, pod: Pod, node: str) -> None:
        self.withdraw(pod.uid)
        if node in self.nodes:
            self._nominated_on[pod.uid] = self.nodes[node]
            self.nodes[node].nominated[pod.uid] = pod

    def withdraw(self, uid: str) -> None:
        """Removes the pod's nomination, also from a node that has left the cluster."""
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
