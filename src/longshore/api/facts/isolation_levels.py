"""The levels of isolation of the process runtime, and the default for pods that name no level."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api.facts import own_names
from longshore.api.types import Obj

LEVELS: Final = ("none", "process", "full")
"""The levels of isolation, the weakest first."""


def weaker(one: str, other: str) -> str:
    """The weaker of two levels."""
    return min(one, other, key=LEVELS.index)


def usual(nodes: Iterable[Obj]) -> str:
    """The strongest default level of these nodes; `full` if no node reports one."""
    key = own_names.ENGINE_ISOLATION.format("process")
    told = [(node["metadata"].get("annotations") or {}).get(key) for node in nodes]
    return max((level for level in told if level in LEVELS), key=LEVELS.index, default=LEVELS[-1])
