"""`resource-strategy-fit`: for each resource, whether fuller nodes or emptier ones are better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.ledger import Node

_FULLER_FIRST: Final = "MostAllocated"
_DEFAULT: Final[Mapping[str, Any]] = {"cpu": {}, "memory": {}}


def score(task: Task, node: Node, resources: Mapping[str, Any]) -> float:
    """Between 0 and 100; 0 where the task would not fit."""
    found = weights = 0.0
    for name, strategy in (resources or _DEFAULT).items():
        amount, all_ = task.requests.get(name, 0), node.allocatable.get(name, 0)
        if not amount or not all_:
            continue
        with_it = node.used.get(name, 0) + amount
        if with_it > all_:
            return 0.0
        weight = _weight(strategy)
        part = with_it / all_
        found += weight * (part if (strategy or {}).get("type") == _FULLER_FIRST else 1 - part)
        weights += weight
    return 100.0 * found / weights if weights else 0.0


def _weight(strategy: Mapping[str, Any] | None) -> float:
    """The weight of a resource; none, or one that makes no sense, is 1."""
    given = (strategy or {}).get("weight")
    return float(given) if isinstance(given, int | float) and given > 0 else 1.0
