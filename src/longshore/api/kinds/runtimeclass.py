"""RuntimeClasses: names for the engines of nodes, with what a pod costs there and where they are."""

from __future__ import annotations

from typing import ClassVar, Final

from longshore.api import field, names
from longshore.api.defaults import quantities
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import resources, scheduling

_NO_CLAIMS: Final[resources.ClaimNames] = frozenset()


class RuntimeClassStrategy(Strategy):
    counts_generation: ClassVar[bool] = False
    has_status: ClassVar[bool] = False
    unconditional_update: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = True

    def default(self, obj: Obj) -> None:
        obj.setdefault("handler", "")
        if amounts := (obj.get("overhead") or {}).get("podFixed"):
            quantities.round_up_list(amounts)

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        handler = obj["handler"]
        found = [field.invalid("handler", handler, text) for text in names.dns1123_label(handler)]
        if amounts := (obj.get("overhead") or {}).get("podFixed"):
            resources.validate_requirements({"limits": amounts}, _NO_CLAIMS, "overhead", found)
        rules = obj.get("scheduling") or {}
        found += metadata.validate_labels(rules.get("nodeSelector"), "scheduling.nodeSelector")
        scheduling.validate_tolerations(rules.get("tolerations") or (), "scheduling.tolerations", found)
        return found

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        found = metadata.validate_update_again(new["metadata"], old["metadata"])
        if new["handler"] != old["handler"]:
            found.append(field.invalid("handler", new["handler"], metadata.IMMUTABLE))
        return found
