"""ResourceQuotas: limits of a namespace in spec, what is used in status. Admission keeps the count."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.defaults.quantities import round_up_list
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import resourcequota as validation


class ResourceQuotaStrategy(Strategy):
    counts_generation: ClassVar[bool] = False
    delete_answers_object: ClassVar[bool] = True

    def default(self, obj: Obj) -> None:
        if (obj.setdefault("spec", {})).get("hard"):
            round_up_list(obj["spec"]["hard"])
        obj.setdefault("status", {})

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        obj["status"] = {}

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate(obj)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate_update(new, old)

    def validate_status(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate_status(new, old)
