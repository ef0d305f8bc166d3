"""Checks of PersistentVolumeClaims. The spec's own rules are shared with pods' ephemeral volumes."""

from __future__ import annotations

from typing import Final

from longshore.api import field, quantity
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import changes, metadata
from longshore.api.validation.pod import claims, resources

_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims\n"
)


def validate(claim: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    claims.validate_claim_spec(claim["spec"], "spec", found)
    return found


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    found += metadata.validate_create(new["metadata"], namespaced=True, name_rule="subdomain")
    found += validate(new)
    spec, before = new["spec"], old["spec"]
    compared = dict(spec)
    for key in _free_fields(new, old):
        compared.pop(key, None)
        if key in before:
            compared[key] = before[key]
    if compared != before:
        found.append(field.forbidden("spec", _FIXED + changes.diff(before, compared)))
    found += _size(spec, before, old.get("status") or {})
    if spec["volumeMode"] != before["volumeMode"]:
        found.append(field.invalid("volumeMode", spec["volumeMode"], metadata.IMMUTABLE))
    if before.get("volumeAttributesClassName") and not spec.get("volumeAttributesClassName"):
        text = "update from non-nil value to nil is forbidden"
        found.append(field.forbidden("spec.volumeAttributesClassName", text))
    return found


def _free_fields(new: Obj, old: Obj) -> list[str]:
    """The fields that this update may change: the volume once, and for bound claims size and class."""
    free = []
    if not old["spec"].get("volumeName"):
        free.append("volumeName")
    if old["spec"].get("storageClassName") is None:
        free.append("storageClassName")
    if (new.get("status") or {}).get("phase") == "Bound":
        free.append("resources")
        if new["spec"].get("volumeAttributesClassName") is not None:
            free.append("volumeAttributesClassName")
    return free


def _size(spec: Obj, before: Obj, status: Obj) -> list[FieldError]:
    """A claim may take back a growth that never happened, but not shrink below what it has."""
    size, was = (((s.get("resources") or {}).get("requests") or {}).get("storage") for s in (spec, before))
    has = (status.get("capacity") or {}).get("storage", "0")
    if size and was and quantity.compare(size, was) < 0 and quantity.compare(size, has) <= 0:
        text = "field can not be less than status.capacity"
        return [field.forbidden("spec.resources.requests.storage", text)]
    return []


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    for name, amount in ((new.get("status") or {}).get("capacity") or {}).items():
        resources.validate_quantity(name, amount, f"status.capacity[{name}]", found)
    return found
