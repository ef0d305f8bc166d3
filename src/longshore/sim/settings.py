"""The question of a simulation, and the nodes it is played on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.sim.troubles import Troubles
from longshore.testing.scripts import Rule

DAY_SECONDS: Final = 86_400.0
DEFAULT_NODE: Final = {"cpu": "64", "memory": "256Gi", "pods": "500"}
DEFAULT_RUN_SECONDS: Final = 60.0
"""How long a pod runs of which nobody says anything; it exits with 0."""
MAX_SECONDS: Final = 3660 * DAY_SECONDS


class Settings(msgspec.Struct, frozen=True):
    """One question: what would happen?"""

    objects: Sequence[Obj]
    """Manifests: Jobs, CronJobs, Volcano Jobs, queues, priority classes, quotas, nodes and the like."""
    start: datetime
    """A whole second: a CronJob runs at it if that is one of its times."""
    zone: str
    """Of CronJobs without one, and of the times that are shown."""
    seconds: float
    """For how long at most."""
    until_done: bool = False
    """Whether it ends when nothing is left to do."""
    seed: int = 0
    nodes: Sequence[Obj] = ()
    """Used where the manifests bring none."""
    rules: Sequence[Rule] = ()
    """How pods go; the latest that matches counts. Where none does, their annotations do."""
    troubles: Troubles = Troubles()
    shortcuts: bool = True
    """Whether work is spared where nobody notices (`apiserver/shortcuts`)."""


def amounts(text: str) -> dict[str, str]:
    """`cpu=64,memory=256Gi,nvidia.com/gpu=8` as amounts. Raises ValueError with what is wrong."""
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, equals, amount = part.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{part!r} is not NAME=AMOUNT, such as cpu=64 or nvidia.com/gpu=8")
        try:
            quantity.value(amount)
        except ValueError:
            raise ValueError(f"{part!r}: {amount!r} is no quantity, such as 64, 500m or 256Gi") from None
        found[name.strip()] = amount
    return found


def nodes(count: int, given: dict[str, str]) -> list[Obj]:
    """So many nodes alike. What is not given has a node of the default."""
    capacity = {**DEFAULT_NODE, **given}
    width = len(str(count - 1))
    return [node(f"node-{number:0{width}}", capacity) for number in range(count)]


def node(name: str, capacity: dict[str, str]) -> Obj:
    labels = {"kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def check_node(given: Obj) -> None:
    """Raises ValueError for a Node that does not say what it has, in quantities."""
    name, status = given["metadata"].get("name"), given.get("status")
    has: object = None
    if isinstance(status, dict):
        has = status.get("allocatable") or status.get("capacity")
    if not has or not isinstance(has, dict):
        raise ValueError(f"Node {name}: status.capacity: say what it has, such as cpu: 64, memory: 256Gi")
    for key, amount in has.items():
        try:
            quantity.value("" if isinstance(amount, bool) else str(amount))
        except ValueError:
            text = f"{amount!r} is no quantity, such as 64, 500m or 256Gi"
            raise ValueError(f"Node {name}: {key} of status.capacity: {text}") from None
