"""Volcano's gate: pods that ask for it are out of everybody's sight until their queue has room for them.

So whoever adds nodes for pods that cannot be scheduled adds none for pods that only wait for their queue.
"""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj

KEY: Final = "scheduling.volcano.sh/queue-allocation-gate"
"""The annotation by which a pod asks for it, and the name of the scheduling gate."""


def is_asked_for(pod: Obj) -> bool:
    return (pod["metadata"].get("annotations") or {}).get(KEY) == "true"


def is_the_only_one(pod: Obj) -> bool:
    """Whether nothing else keeps the pod from being scheduled."""
    return [gate.get("name") for gate in pod["spec"].get("schedulingGates") or ()] == [KEY]
