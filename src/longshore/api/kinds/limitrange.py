"""LimitRanges: defaults and bounds for the containers, pods and claims of a namespace.

What is missing for containers follows from what is there: a maximum is the default limit, a default
limit the default request, and failing that the minimum is.
"""

from __future__ import annotations

from typing import ClassVar, Final

from longshore.api.defaults.quantities import round_up_list
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import limitrange as validation
from longshore.api.validation import metadata

_LISTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


class LimitRangeStrategy(Strategy):
    counts_generation: ClassVar[bool] = False
    has_status: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = True

    def default(self, obj: Obj) -> None:
        for item in obj.setdefault("spec", {}).setdefault("limits", []) or ():
            for key in _LISTS:
                if item.get(key):
                    round_up_list(item[key])
            if item.get("type") == "Container":
                _complete(item)

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate(obj)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        found = metadata.validate_create(new["metadata"], namespaced=True, name_rule=self.name_rule)
        return found + validation.validate(new)


def _complete(item: Obj) -> None:
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests
