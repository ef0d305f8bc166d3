"""Namespaces: kept by the `kubernetes` finalizer in spec until they are empty, phase in status.

A namespace's own finalizers (spec.finalizers) are written through /finalize alone. Three namespaces
can never be deleted.
"""

from __future__ import annotations

from typing import Final

from longshore.api import errors, field, label_syntax
from longshore.api.defaults import fill
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy, keep_status
from longshore.api.types import Obj
from longshore.api.validation import metadata

FINALIZER: Final = "kubernetes"
NAME_LABEL: Final = "kubernetes.io/metadata.name"
ACTIVE: Final = "Active"
TERMINATING: Final = "Terminating"
UNDELETABLE: Final = frozenset(("default", "kube-system", "kube-public"))


def _default(obj: Obj) -> None:
    """Labels the namespace with its own name, so that selectors can pick it."""
    _label(obj.setdefault("metadata", {}))
    obj.setdefault("spec", {})
    status = obj.setdefault("status", {})
    fill(status, phase=ACTIVE)


def _prepare_create(obj: Obj, ctx: Context) -> None:
    _label(obj["metadata"])  # again, for names that were generated only now
    obj["status"] = {"phase": ACTIVE}
    finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)


def _validate_create(obj: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    for name in obj["spec"].get("finalizers") or ():
        found += _finalizer(name, "spec.finalizers")
    return found


def _prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    spec = new.setdefault("spec", {})
    kept = old["spec"].get("finalizers")
    if kept:
        spec["finalizers"] = kept
    else:
        spec.pop("finalizers", None)


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_create(new["metadata"], namespaced=False, name_rule="label")
    found += _validate_create(new)
    return found + metadata.validate_update_again(new["metadata"], old["metadata"])


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    phase = (new.get("status") or {}).get("phase", "")
    if "deletionTimestamp" not in new["metadata"]:
        if phase != ACTIVE:
            text = "may only be 'Active' if `deletionTimestamp` is empty"
            found.append(field.invalid("status.Phase", phase, text))
    elif phase != TERMINATING:
        text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
        found.append(field.invalid("status.Phase", phase, text))
    return found


def _validate_subresource(new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    """Checks a write to /finalize."""
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    for i, name in enumerate(new["spec"].get("finalizers") or ()):
        found += _finalizer(name, f"spec.finalizers[{i}]")
    return found


def _check_deletable(obj: Obj) -> None:
    name = obj["metadata"]["name"]
    if name in UNDELETABLE:
        raise errors.forbidden("", "namespaces", name, "this namespace may not be deleted")


def _label(meta: Obj) -> None:
    name = meta.get("name")
    if name and (meta.get("labels") or {}).get(NAME_LABEL) != name:
        meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: name}


def _finalizer(name: str, path: str) -> list[FieldError]:
    found = [field.invalid(path, name, text) for text in label_syntax.qualified_name(name)]
    if "/" not in name and name not in metadata.STANDARD_FINALIZERS:
        text = "name is neither a standard finalizer name nor is it fully qualified"
        found.append(field.invalid(path, name, text))
    return found


STRATEGY: Final = Strategy(
    name_rule="label",
    counts_generation=False,
    marks_grace=False,
    default=_default,
    prepare_create=_prepare_create,
    validate_create=_validate_create,
    prepare_update=_prepare_update,
    validate_update=_validate_update,
    validate_status=_validate_status,
    validate_subresource=_validate_subresource,
    check_deletable=_check_deletable,
    begin_deletion=lambda obj: obj.update(status={**(obj.get("status") or {}), "phase": TERMINATING}),
    holds=lambda obj: bool(obj["spec"].get("finalizers")),
)
