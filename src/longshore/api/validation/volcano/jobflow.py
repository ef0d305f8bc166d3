"""JobFlows: every target must be a flow of the same JobFlow, and there must be an order."""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.api.validation.volcano import dag

_NO_ORDER: Final = "jobflow Flow is not DAG"


def validate(spec: Obj) -> str:
    """The first thing wrong."""
    waits_for: dict[str, list[str]] = {
        flow.get("name", ""): list((flow.get("dependsOn") or {}).get("targets") or ())
        for flow in spec.get("flows") or ()
    }
    for targets in waits_for.values():
        for target in targets:
            if target not in waits_for:
                return f"{_NO_ORDER}: vertex is not defined: {target}"
    return "" if dag.is_acyclic(waits_for) else _NO_ORDER
