"""Checks of the conditions that newer kinds share (type, status, reason, message, time)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from longshore.api import field, label_syntax
from longshore.api.field import FieldError
from longshore.api.types import Obj

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
    if status not in _STATUSES:
        found.append(field.not_supported(f"{path}.status", status, _STATUSES))
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
