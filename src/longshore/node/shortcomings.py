"""The shortcomings of a node and its level of isolation, read from its object in the API. Pure.

Runtimes write what they lack into the node's annotations (`open_runtimes.py`), a sentence each. Here the
sentences become one line.
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import conditions, own_names
from longshore.api.types import Obj

_WANTED: Final = ("podman",)


def words(node: Obj) -> str:
    """The shortcomings, separated by semicolons; empty if there are none."""
    status = node.get("status") or {}
    found = []
    ready = conditions.find(node, "Ready") or {}
    if ready.get("status") == "False":
        found.append(str(ready.get("message", "")))
    if (conditions.find(node, "DiskPressure") or {}).get("status") == "True":
        found.append("its disk is nearly full")
    notes = (node["metadata"].get("annotations") or {}).get(own_names.ENGINE_NOTES.format("process"), "")
    found += [_part(sentence) for sentence in notes.split(". ") if sentence]
    handlers = {handler.get("name") for handler in status.get("runtimeHandlers") or ()}
    found += [f"there is no {runtime}" for runtime in _WANTED if handlers and runtime not in handlers]
    return "; ".join(found)


def _part(sentence: str) -> str:
    """A sentence as a part of a longer one."""
    text = sentence.strip().rstrip(".")
    is_name = text[:2].isupper()  # CPU, not Memory
    return text if is_name else text[:1].lower() + text[1:]


def isolation(node: Obj) -> str:
    """`process; more: longshore up --isolation full`; empty for a node whose runtime has walls of its own."""
    annotations = node["metadata"].get("annotations") or {}
    level = annotations.get(own_names.ENGINE_ISOLATION.format("process"), "")
    if level in ("", "full"):
        return str(level)
    problem = annotations.get(own_names.ENGINE_ISOLATION_PROBLEM.format("process"), "")
    if problem:
        return f"{level}; more is not possible here: {problem} (what to turn on: longshore doctor)"
    stronger = "full" if level == "process" else "process or full"
    return f"{level}, for pods that do not say which; more: longshore up --isolation {stronger}"
