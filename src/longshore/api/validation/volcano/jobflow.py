"""JobFlows: every target must be a flow of the same JobFlow, and the flows must form a DAG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from longshore.api.types import Obj

_NO_ORDER: Final = "jobflow Flow is not DAG"


def validate(spec: Obj) -> str:
    """The first problem of a JobFlow."""
    waits_for: dict[str, list[str]] = {
        flow.get("name", ""): list((flow.get("dependsOn") or {}).get("targets") or ())
        for flow in spec.get("flows") or ()
    }
    for targets in waits_for.values():
        for target in targets:
            if target not in waits_for:
                return f"{_NO_ORDER}: vertex is not defined: {target}"
    return "" if is_acyclic(waits_for) else _NO_ORDER


# ---- Dependencies between tasks or flows: whether there is an order for all of them.


def is_acyclic(waits_for: Mapping[str, Iterable[str]]) -> bool:
    """Whether there is an order in which each key comes after the names that it waits for.

    False if a key waits for a name that is no key.
    """
    left = {name: set(others) for name, others in waits_for.items()}
    while left:
        ready = [name for name, others in left.items() if not others]
        if not ready:
            return False
        for name in ready:
            del left[name]
        for others in left.values():
            others.difference_update(ready)
    return True
