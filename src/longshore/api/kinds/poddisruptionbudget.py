"""PodDisruptionBudgets: how many pods of a set may be evicted. The numbers are in status."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from longshore.api import field, indexes, label_syntax
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy, starts_with
from longshore.api.types import Obj
from longshore.api.validation import metadata

_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_is_percent: Final = re.compile("[0-9]+%", re.ASCII).fullmatch
_PERCENT_TEXT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%'"
    " (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def _default(obj: Obj) -> None:
    obj.setdefault("spec", {})
    obj["status"] = {**dict.fromkeys(_COUNTS, 0), **(obj.get("status") or {})}


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    status = new["status"]
    found = validate_conditions(status.get("conditions") or (), "status.conditions")
    return found + field.negative(status, "status", *_COUNTS)


def _spec(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        found.append(field.invalid("spec", _internal(spec), text))
    for key in ("minAvailable", "maxUnavailable"):
        if spec.get(key) is not None:
            found += _amount(spec[key], f"spec.{key}")
    found += metadata.validate_label_selector(spec.get("selector"), "spec.selector")
    found += field.unsupported(spec, "unhealthyPodEvictionPolicy", "spec", _POLICIES)
    return found


def _amount(value: int | str, path: str) -> list[FieldError]:
    """Checks a number of pods, or a percentage of at most 100."""
    if isinstance(value, int):
        return [field.invalid(path, value, field.NOT_NEGATIVE)] if value < 0 else []
    if not _is_percent(value):
        return [field.invalid(path, value, _PERCENT_TEXT)]
    percent = indexes.integer(value[:-1])
    if percent is None or percent > 100:
        return [field.invalid(path, value, "must not be greater than 100%")]
    return []


def _internal(spec: Obj) -> Obj:
    """The spec as Kubernetes prints its internal type."""
    keys = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
    return {key[0].upper() + key[1:]: spec.get(key) for key in keys}


STRATEGY: Final = Strategy(
    name_rule="any",
    unconditional_update=False,
    default=_default,
    prepare_create=starts_with(dict.fromkeys(_COUNTS, 0)),
    validate_create=lambda obj: _spec(obj["spec"]),
    validate_update=lambda new, old: _spec(new["spec"]),
    validate_status=_validate_status,
)


# ---- Checks of the conditions that newer kinds share (type, status, reason, message, time).

_STATUSES: Final = ("False", "True", "Unknown")
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason: Final = re.compile(_REASON).fullmatch
_REASON_TEXT: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
    f" (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', "
    f"regex used for validation is '{_REASON}')"
)
_MAX_REASON_CHARACTERS: Final = 1024
_MAX_MESSAGE_CHARACTERS: Final = 32 * 1024


def validate_conditions(conditions: Iterable[Obj], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            found.append(field.duplicate(f"{path}[{i}].type", kind))
        seen.add(kind)
        found += _condition(condition, f"{path}[{i}]")
    return found


def _condition(condition: Obj, path: str) -> list[FieldError]:
    kind, status = condition.get("type", ""), condition.get("status", "")
    found = [field.invalid(f"{path}.type", kind, text) for text in label_syntax.qualified_name(kind)]
    found += field.one_of(f"{path}.status", status, _STATUSES)
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        text = "must be greater than or equal to zero"
        found.append(field.invalid(f"{path}.observedGeneration", generation, text))
    if not condition.get("lastTransitionTime"):
        found.append(field.required(f"{path}.lastTransitionTime", "must be set"))
    reason = condition.get("reason", "")
    if not reason:
        found.append(field.required(f"{path}.reason", "must be set"))
    elif not _is_reason(reason):
        found.append(field.invalid(f"{path}.reason", reason, _REASON_TEXT))
    if len(reason) > _MAX_REASON_CHARACTERS:
        found.append(field.too_long(f"{path}.reason", _MAX_REASON_CHARACTERS))
    if len(condition.get("message", "")) > _MAX_MESSAGE_CHARACTERS:
        found.append(field.too_long(f"{path}.message", _MAX_MESSAGE_CHARACTERS))
    return found
