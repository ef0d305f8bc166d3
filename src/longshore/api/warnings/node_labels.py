"""Warnings about renamed node labels in selectors, and about label values that no node can have."""

from __future__ import annotations

from typing import Final

from longshore.api import label_syntax
from longshore.api.types import Obj

_RENAMED: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def deprecated(key: str) -> str:
    """The warning about a deprecated label key; empty for all others."""
    if key not in _RENAMED:
        return ""
    since, instead = _RENAMED[key]
    return f'deprecated since {since}; use "{instead}" instead'


def warnings(spec: Obj, path: str) -> list[str]:
    """The node selector and node affinity of a pod spec."""
    found = []
    for key in spec.get("nodeSelector") or ():
        if text := deprecated(key):
            found.append(f"{path}.nodeSelector[{key}]: {text}")
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    here = f"{path}.affinity.nodeAffinity"
    for i, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        found += _term(term, f"{here}.{_REQUIRED}.nodeSelectorTerms[{i}]", check_values=False)
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        found += _term(
            weighted.get("preference") or {}, f"{here}.{_PREFERRED}[{i}].preference", check_values=True
        )
    return found


def _term(term: Obj, path: str, *, check_values: bool) -> list[str]:
    found = []
    for i, rule in enumerate(term.get("matchExpressions") or ()):
        key = rule.get("key") or ""
        if text := deprecated(key):
            found.append(f"{path}.matchExpressions[{i}].key: {key} is {text}")
        if check_values:
            for j, value in enumerate(rule.get("values") or ()):
                if problems := label_syntax.label_value(value):
                    where = f"{path}.matchExpressions[{i}].values[{j}]"
                    found.append(f"{where}: {value} is invalid, {';'.join(problems)}")
    return found
