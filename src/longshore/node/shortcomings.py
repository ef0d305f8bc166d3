"""The shortcomings of a node: what it cannot do for its pods, told from its object in the API. Pure.

The engines write what they lack into the node's annotations (`engines.py`) in sentences; here these become
one line.
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import conditions, own_names
from longshore.api.types import Obj

_WANTED: Final = ("podman",)


def words(node: Obj) -> str:
    """Parts separated by semicolons; empty when nothing is lacking."""
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
    found += [f"there is no {engine}" for engine in _WANTED if handlers and engine not in handlers]
    return "; ".join(found)


def _part(sentence: str) -> str:
    """A sentence as a part of a longer one."""
    text = sentence.strip().rstrip(".")
    is_name = text[:2].isupper()  # CPU, not Memory
    return text if is_name else text[:1].lower() + text[1:]
