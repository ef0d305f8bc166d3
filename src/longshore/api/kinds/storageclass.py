"""StorageClasses: how volumes are provisioned. Only metadata and a few switches may change."""

from __future__ import annotations

from typing import Final

from longshore.api import field, label_syntax
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata

_RECLAIM: Final = ("Delete", "Retain")
_BINDING: Final = ("Immediate", "WaitForFirstConsumer")
_MAX_PARAMETERS: Final = 512
_MAX_PARAMETER_BYTES: Final = 256 * 1024


def _default(obj: Obj) -> None:
    if obj.get("reclaimPolicy") is None:
        obj["reclaimPolicy"] = "Delete"
    if obj.get("volumeBindingMode") is None:
        obj["volumeBindingMode"] = "Immediate"


def _validate_create(obj: Obj) -> list[FieldError]:
    provisioner = obj.get("provisioner", "")
    if provisioner:
        wrong = label_syntax.qualified_name(provisioner.lower())
        found = [field.invalid("provisioner", provisioner, text) for text in wrong]
    else:
        found = [field.required("provisioner")]
    found += _parameters(obj.get("parameters") or {})
    found += field.one_of("reclaimPolicy", obj["reclaimPolicy"], _RECLAIM)
    found += field.one_of("volumeBindingMode", obj["volumeBindingMode"], _BINDING)
    return found


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    if (new.get("parameters") or {}) != (old.get("parameters") or {}):
        found.append(field.forbidden("parameters", "updates to parameters are forbidden."))
    if new.get("provisioner", "") != old.get("provisioner", ""):
        found.append(field.forbidden("provisioner", "updates to provisioner are forbidden."))
    return found + field.changed(new, old, "reclaimPolicy", "volumeBindingMode")


def _parameters(parameters: dict[str, str]) -> list[FieldError]:
    if len(parameters) > _MAX_PARAMETERS:
        return [field.too_long("parameters", _MAX_PARAMETERS)]
    found = [field.invalid("parameters", key, "field can not be empty.") for key in parameters if not key]
    if sum(len(k.encode()) + len(v.encode()) for k, v in parameters.items()) > _MAX_PARAMETER_BYTES:
        found.append(field.too_long("parameters", _MAX_PARAMETER_BYTES))
    return found


STRATEGY: Final = Strategy(
    counts_generation=False,
    has_status=False,
    delete_answers_object=True,
    default=_default,
    validate_create=_validate_create,
    validate_update=_validate_update,
)
