"""Decides whether the node admits a pod, and keeps the ledger of what admitted pods request.

The scheduler has checked this already. The node checks again because pods may name their node themselves and
two schedulers may disagree. A pod that is refused fails at once and never runs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from longshore.api import types
from longshore.api.pod_resources import pod_requests
from longshore.api.types import Obj
from longshore.node.capacity import Capacity, number
from longshore.node.pod.memory import PodVerdict

_CHECKED: Final = ("pods", "cpu", "memory", "ephemeral-storage")
"""Resources that every node has, in upstream's order."""


@lru_cache(maxsize=1024)
def _amounts(key: bytes) -> tuple[tuple[str, int], ...]:
    asked = pod_requests(types.decode(key))
    return tuple((name, number(name, amount)) for name, amount in asked.items())


def requests_of(spec: Obj) -> tuple[tuple[str, int], ...]:
    """The pod's requests, cpu in thousandths. Computed once for pods of one template."""
    containers, inits = spec["containers"], spec.get("initContainers")
    whole, overhead = spec.get("resources"), spec.get("overhead")
    if not inits and not whole and not overhead and not any(c.get("resources") for c in containers):
        return ()
    part: Obj = {"containers": [_asks(c) for c in containers]}
    if inits:
        part["initContainers"] = [_asks(c) for c in inits]
    if whole:
        part["resources"] = whole
    if overhead:
        part["overhead"] = overhead
    return _amounts(types.encode(part))


def _asks(container: Obj) -> Obj:
    kept = {"name": container["name"], "resources": container.get("resources") or {}}
    if "restartPolicy" in container:
        kept["restartPolicy"] = container["restartPolicy"]
    return kept


class Ledger:
    """The used part of a node's capacity."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._room: dict[str, int] = {name: capacity.number(name) for name in capacity.amounts}
        self._used: dict[str, int] = {}
        self._pods: dict[str, tuple[tuple[str, int], ...]] = {}

    def admit(self, uid: str, spec: Obj) -> PodVerdict | None:
        """Admits the pod, or returns why not. Does nothing for a pod that was admitted before."""
        if uid in self._pods:
            return None
        asked = requests_of(spec)
        if refused := self._lacking(asked):
            return refused
        self._take(uid, asked)
        return None

    def hold(self, uid: str, spec: Obj) -> None:
        """Admits the pod without a check, because it runs here already."""
        if uid not in self._pods:
            self._take(uid, requests_of(spec))

    def _take(self, uid: str, asked: tuple[tuple[str, int], ...]) -> None:
        self._pods[uid] = asked
        used = self._used
        for name, amount in asked:
            used[name] = used.get(name, 0) + amount

    def release(self, uid: str) -> None:
        for name, amount in self._pods.pop(uid, ()):
            self._used[name] -= amount

    def _lacking(self, asked: tuple[tuple[str, int], ...]) -> PodVerdict | None:
        room = self._room
        if len(self._pods) >= room["pods"]:
            return _refusal("pods", 1, len(self._pods), room["pods"])
        for name, amount in asked:
            used = self._used.get(name, 0)
            if amount and used + amount > room.get(name, 0):
                if name not in _CHECKED and name not in room and not name.startswith("hugepages-"):
                    continue  # as upstream: resources that the node does not know are not checked
                return _refusal(name, amount, used, room.get(name, 0))
        return None


def _refusal(name: str, asked: int, used: int, room: int) -> PodVerdict:
    text = f"Node didn't have enough resource: {name}, requested: {asked}, used: {used}, capacity: {room}"
    return PodVerdict(f"OutOf{name}", f"Pod was rejected: {text}")
