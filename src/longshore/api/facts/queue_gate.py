"""Volcano's gate: a scheduling gate that pods ask for, which stays until their queue has room for them.

So an autoscaler adds no nodes for pods that only wait for their queue.
"""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj

KEY: Final = "scheduling.volcano.sh/queue-allocation-gate"
"""The annotation by which a pod asks for the gate, and the gate's name."""


def is_asked_for(pod: Obj) -> bool:
    return (pod["metadata"].get("annotations") or {}).get(KEY) == "true"


def is_the_only_one(pod: Obj) -> bool:
    """Whether this is the pod's only scheduling gate."""
    return [gate.get("name") for gate in pod["spec"].get("schedulingGates") or ()] == [KEY]
