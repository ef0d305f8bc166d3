"""The kind that a document names, read before anything else, as in Kubernetes.

Go looks for the two names without regard to case here, and only here.
"""

from __future__ import annotations

from typing import Any, Final

from longshore.api.codec.decoded import DecodeError
from longshore.api.codec.jsontext import Pairs

_TARGET: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)
_NAMES: Final = {"apiversion": "apiVersion", "kind": "kind"}


def interpret(node: Any) -> tuple[str, str]:
    """apiVersion and kind of a document tree or value; empty where it has none."""
    if node is None:
        return "", ""
    if not isinstance(node, Pairs | dict):
        raise DecodeError(f"json: cannot unmarshal {_word(node)} into Go value of type {_TARGET}")
    found = {"apiVersion": "", "kind": ""}
    wrong = ""
    members = sorted(node.items()) if isinstance(node, dict) else node
    for key, value in members:
        name = _NAMES.get(key.lower())
        if name is None or value is None:
            continue
        if type(value) is str:
            found[name] = value
        else:
            wrong = wrong or f"{_word(value)} into Go struct field .{name} of type string"
    if wrong:
        raise DecodeError(f"json: cannot unmarshal {wrong}")
    return found["apiVersion"], found["kind"]


def _word(node: Any) -> str:
    if isinstance(node, bool):
        return "bool"
    if type(node) is str:
        return "string"
    if isinstance(node, Pairs | dict):
        return "object"
    return "array" if isinstance(node, list) else "number"
