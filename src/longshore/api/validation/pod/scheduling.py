"""Scheduling constraints of a pod: tolerations, topology spread, gates, priority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from longshore.api import field, label_syntax
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import affinity

_OPERATORS: Final = ("Equal", "Exists")
_ALL_OPERATORS: Final = ("Equal", "Exists", "Lt", "Gt")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION: Final = ("Honor", "Ignore")
PREEMPTION: Final = ("PreemptLowerPriority", "Never")


def validate_tolerations(tolerations: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    for i, toleration in enumerate(tolerations):
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        effect, value = toleration.get("effect") or "", toleration.get("value") or ""
        if key:
            if problems := label_syntax.qualified_name(key):
                found += [field.invalid(f"{path}[{i}].key", key, text) for text in problems]
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            found.append(field.invalid(f"{path}[{i}].operator", operator, text))
        if effect != "NoExecute" and toleration.get("tolerationSeconds") is not None:
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(field.invalid(f"{path}[{i}].effect", effect, text))
        if operator == "Exists":
            if value:
                text = "value must be empty when `operator` is 'Exists'"
                found.append(field.invalid(f"{path}[{i}].operator", value, text))
        elif operator in ("", "Equal"):
            if problems := label_syntax.label_value(value):
                found.append(field.invalid(f"{path}[{i}].operator", value, ";".join(problems)))
        else:
            # Lt and Gt are known, but switched off by default in this version.
            allowed = _ALL_OPERATORS if operator in _ALL_OPERATORS else _OPERATORS
            found.append(field.not_supported(f"{path}[{i}].operator", operator, allowed))
        if effect and effect not in _EFFECTS:
            found.append(field.not_supported(f"{path}[{i}].effect", effect, _EFFECTS))


def validate_spread(constraints: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    """Checks `topologySpreadConstraints`: one per pair of topology key and action."""
    pairs = [(c.get("topologyKey") or "", c.get("whenUnsatisfiable") or "") for c in constraints]
    left = Counter(pairs)
    for i, constraint in enumerate(constraints):
        here, (key, action) = f"{path}[{i}]", pairs[i]
        left[pairs[i]] -= 1
        skew = constraint.get("maxSkew") or 0
        if skew <= 0:
            found.append(field.invalid(f"{here}.maxSkew", skew, "must be greater than zero"))
        if not key:
            found.append(field.required(f"{here}.topologyKey", "can not be empty"))
        if action not in _UNSATISFIABLE:
            found.append(field.not_supported(f"{here}.whenUnsatisfiable", action, _UNSATISFIABLE))
        if left[pairs[i]]:
            where = f"{here}.{{topologyKey, whenUnsatisfiable}}"
            found.append(field.duplicate(where, f"{{{key}, {action}}}"))
        domains = constraint.get("minDomains")
        if domains is not None:
            if domains <= 0:
                found.append(field.invalid(f"{here}.minDomains", domains, "must be greater than zero"))
            if action != "DoNotSchedule":
                text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                found.append(field.invalid(f"{here}.minDomains", domains, text))
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            found += field.unsupported(constraint, name, here, _INCLUSION)
        selector = constraint.get("labelSelector")
        affinity.validate_label_keys(constraint.get("matchLabelKeys") or (), (), selector, here, found)
        found += metadata.validate_label_selector(selector, f"{here}.labelSelector")


def validate_scheduling_gates(gates: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, gate in enumerate(gates):
        name = gate.get("name") or ""
        found += [field.invalid(f"{path}[{i}]", name, text) for text in label_syntax.qualified_name(name)]
        if name in seen:
            found.append(field.duplicate(f"{path}[{i}]", name))
        seen.add(name)


def validate_readiness_gates(gates: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    for i, gate in enumerate(gates):
        kind = gate.get("conditionType") or ""
        found += field.each(f"{path}[{i}].conditionType", kind, label_syntax.qualified_name(kind))
