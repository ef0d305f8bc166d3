"""RuntimeClasses: names of container runtimes, each with its overhead for a pod and the nodes it is on."""

from __future__ import annotations

from typing import Final

from longshore.api import field, names, quantity
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import resources, scheduling

_NO_CLAIMS: Final[resources.ClaimNames] = frozenset()


def _default(obj: Obj) -> None:
    obj.setdefault("handler", "")
    if amounts := (obj.get("overhead") or {}).get("podFixed"):
        quantity.round_up_list(amounts)


def _validate_create(obj: Obj) -> list[FieldError]:
    handler = obj["handler"]
    found = [field.invalid("handler", handler, text) for text in names.dns1123_label(handler)]
    if amounts := (obj.get("overhead") or {}).get("podFixed"):
        resources.validate_requirements({"limits": amounts}, _NO_CLAIMS, "overhead", found)
    rules = obj.get("scheduling") or {}
    found += metadata.validate_labels(rules.get("nodeSelector"), "scheduling.nodeSelector")
    scheduling.validate_tolerations(rules.get("tolerations") or (), "scheduling.tolerations", found)
    return found


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    return found + field.changed(new, old, "handler")


STRATEGY: Final = Strategy(
    counts_generation=False,
    has_status=False,
    unconditional_update=False,
    create_on_update=True,
    default=_default,
    validate_create=_validate_create,
    validate_update=_validate_update,
)
