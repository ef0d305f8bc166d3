"""Structures inside messages, the way Kubernetes prints its internal types: Go's names for fields.

Some errors quote a whole pod template or policy. Upstream prints the internal Go struct there, with capital
letters and every unset field; here only set fields are printed, under the same names.
"""

from __future__ import annotations

from typing import Any, Final

from longshore.api.types import Obj

_MAPS: Final = frozenset(("labels", "annotations", "nodeSelector", "matchLabels", "limits", "requests"))


def go_shaped(value: Any) -> Any:
    """The value with its field names in Go's spelling; keys of maps stay as they are."""
    if isinstance(value, dict):
        return {
            k[:1].upper() + k[1:]: dict(sorted(v.items())) if k in _MAPS and v else go_shaped(v)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [go_shaped(v) for v in value]
    return value


def go_template(template: Obj) -> Obj:
    """A pod template as Go prints it: metadata is part of the struct itself and keeps its JSON names."""
    return {**(template.get("metadata") or {}), "Spec": go_shaped(template.get("spec") or {})}
