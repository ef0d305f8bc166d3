"""ServiceAccounts: names that pods can run as. References to secrets keep nothing but the name."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata


class ServiceAccountStrategy(Strategy):
    counts_generation: ClassVar[bool] = False
    has_status: ClassVar[bool] = False
    delete_answers_object: ClassVar[bool] = True

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        _keep_names(obj)

    def prepare_update(self, new: Obj, old: Obj, ctx: Context) -> None:
        _keep_names(new)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        found = metadata.validate_update_again(new["metadata"], old["metadata"])
        return found + metadata.validate_create(new["metadata"], namespaced=True, name_rule=self.name_rule)


def _keep_names(obj: Obj) -> None:
    if obj.get("secrets"):
        obj["secrets"] = [{"name": s["name"]} if s.get("name") else {} for s in obj["secrets"]]
