"""The level of isolation in force on a node, and why it is not more, from its object in the API. Pure."""

from __future__ import annotations

from longshore.api.facts import own_names
from longshore.api.types import Obj


def words(node: Obj) -> str:
    """`process; more: longshore up --isolation full`; empty for a node whose engine has walls of its own."""
    annotations = node["metadata"].get("annotations") or {}
    level = annotations.get(own_names.ENGINE_ISOLATION.format("process"), "")
    if level in ("", "full"):
        return str(level)
    problem = annotations.get(own_names.ENGINE_ISOLATION_PROBLEM.format("process"), "")
    if problem:
        return f"{level}; more is not possible here: {problem} (what to turn on: longshore doctor)"
    stronger = "full" if level == "process" else "process or full"
    return f"{level}, for pods that do not say which; more: longshore up --isolation {stronger}"
