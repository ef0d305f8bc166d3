"""Stores new pods with their node: the scheduler of this process is asked in the turn that creates them.

The long way stores a pod without a node, notifies every watcher, and stores it again when the scheduler has
bound it. If the scheduler has an answer at once, the first of the two writes is left out, and only the state
without a node is missing. A pod for which there is no room, or which has to wait behind others, goes the long
way.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from longshore.api.kinds import pod_binding
from longshore.api.types import Obj
from longshore.store import Key, Staged

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import StoreError

_PODS: Final = "pods"


class Placer(Protocol):
    """A scheduler that can be asked about a pod which is not stored yet."""

    def place(self, pod: Obj) -> str:
        """The node for a new pod, which takes room there from now on; empty if the pod has to wait."""

    def stored(self, pod: Obj, error: StoreError | None) -> None:
        """Called when the pod is stored with its node, or with the error by which that failed."""


class PlacedPods:
    """Stages new objects of an API; pods with the node that a scheduler gives them at once."""

    relies_on: ClassVar[tuple[str, ...]] = (
        "a scheduler that runs in this process and event loop",
        "a pod bound by `pods/binding` at once has the same content",
    )
    earns: ClassVar[str] = "one write of five for a pod (bench/run.py)"

    def __init__(self, api: Api, placer: Placer) -> None:
        self._api, self.placer = api, placer

    def stage(self, key: Key, obj: Obj, *, joined: bool = False) -> Staged:
        """Stages an object as the store does."""
        api, placer = self._api, self.placer
        is_open = key.storage == _PODS and not obj["spec"].get("nodeName")
        if not is_open or obj["spec"].get("schedulingGates") or not (node := placer.place(obj)):
            return api.store.stage(key, obj, joined=joined)
        obj = pod_binding.bound(obj, node, now=api.now())
        staged = api.store.stage(key, obj, joined=joined)
        staged.then(partial(placer.stored, obj))
        return staged
