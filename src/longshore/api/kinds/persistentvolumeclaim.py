"""PersistentVolumeClaims: after creation only the size (upwards), the volume's name and the class change."""

from __future__ import annotations

from typing import Final

from longshore.api import field, quantity
from longshore.api.field import FieldError
from longshore.api.quantity import round_up, round_up_list
from longshore.api.strategy import Context, Strategy, keep_status
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import pod_volumes, resources

_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims\n"
)


def validate(claim: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    pod_volumes.validate_claim_spec(claim["spec"], "spec", found)
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
        found.append(field.forbidden("spec", _FIXED + field.diff(before, compared)))
    found += _size(spec, before, old.get("status") or {})
    found += field.changed(spec, before, "volumeMode")
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
    """Refuses a size below the claim's capacity. A larger request may be reduced to what the claim has."""
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


def _default(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    if spec.setdefault("resources", {}):
        round_up(spec["resources"])
    status = obj.get("status") or {}
    if not status.get("phase"):
        obj["status"] = {**status, "phase": "Pending"}
    if status.get("capacity"):
        round_up_list(status["capacity"])


def _prepare_create(obj: Obj, ctx: Context) -> None:
    obj["status"] = {"phase": "Pending"}
    _agree_on_source(obj["spec"])


def _prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    _agree_on_source(new["spec"])


def _agree_on_source(spec: Obj) -> None:
    """Makes `dataSource` and `dataSourceRef` equal, unless the source is in another namespace."""
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and ref is None:
        spec["dataSourceRef"] = dict(source)
    elif source is None and ref is not None and not ref.get("namespace"):
        spec["dataSource"] = {k: v for k, v in ref.items() if k != "namespace"}


STRATEGY: Final = Strategy(
    counts_generation=False,
    delete_answers_object=True,
    default=_default,
    prepare_create=_prepare_create,
    validate_create=validate,
    prepare_update=_prepare_update,
    validate_update=validate_update,
    validate_status=validate_status,
)
