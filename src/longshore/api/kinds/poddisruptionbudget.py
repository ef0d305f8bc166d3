"""PodDisruptionBudgets: how many pods of a set an eviction may take. The numbers are in status."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from longshore.api import field, indexes
from longshore.api.field import FieldError
from longshore.api.strategy import Context, NameRule, Strategy
from longshore.api.types import Obj
from longshore.api.validation import conditions, metadata

_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_is_percent: Final = re.compile("[0-9]+%", re.ASCII).fullmatch
_PERCENT_TEXT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%'"
    " (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


class PodDisruptionBudgetStrategy(Strategy):
    name_rule: ClassVar[NameRule] = "any"
    unconditional_update: ClassVar[bool] = False

    def default(self, obj: Obj) -> None:
        obj.setdefault("spec", {})
        obj["status"] = {**dict.fromkeys(_COUNTS, 0), **(obj.get("status") or {})}

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        obj["status"] = dict.fromkeys(_COUNTS, 0)

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return _spec(obj["spec"])

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return _spec(new["spec"])

    def validate_status(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        status = new["status"]
        found = conditions.validate_conditions(status.get("conditions") or (), "status.conditions")
        for key in _COUNTS:
            if status[key] < 0:
                found.append(field.invalid(f"status.{key}", status[key], metadata.NOT_NEGATIVE))
        return found


def _spec(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        found.append(field.invalid("spec", _internal(spec), text))
    for key in ("minAvailable", "maxUnavailable"):
        if spec.get(key) is not None:
            found += _amount(spec[key], f"spec.{key}")
    found += metadata.validate_label_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        found.append(field.not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES))
    return found


def _amount(value: int | str, path: str) -> list[FieldError]:
    """A number of pods, or a percentage of at most 100."""
    if isinstance(value, int):
        return [field.invalid(path, value, metadata.NOT_NEGATIVE)] if value < 0 else []
    if not _is_percent(value):
        return [field.invalid(path, value, _PERCENT_TEXT)]
    percent = indexes.integer(value[:-1])
    if percent is None or percent > 100:
        return [field.invalid(path, value, "must not be greater than 100%")]
    return []


def _internal(spec: Obj) -> Obj:
    """The spec the way Kubernetes prints it from its internal types."""
    keys = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
    return {key[0].upper() + key[1:]: spec.get(key) for key in keys}
