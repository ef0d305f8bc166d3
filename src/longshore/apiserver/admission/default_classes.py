"""Default classes: a claim without a storage class gets the default one, if the cluster has one; and at most
one PriorityClass is the default for pods that name none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.admission.lookup import forbidden

_MARKS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_OLD_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


def set_default(claim: Obj, classes: Iterable[Obj]) -> None:
    """Sets `storageClassName`. Of several defaults the newest wins, then the first by name."""
    spec = claim["spec"]
    annotations = claim["metadata"].get("annotations") or {}
    if spec.get("storageClassName") is not None or _OLD_ANNOTATION in annotations:
        return
    defaults = sorted((c for c in classes if _is_default(c)), key=lambda c: str(c["metadata"]["name"]))
    if defaults:
        newest = max(defaults, key=lambda c: str(c["metadata"]["creationTimestamp"]))
        spec["storageClassName"] = newest["metadata"]["name"]


def _is_default(storage_class: Obj) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in _MARKS)


def check_only_default(resource: Resource, new: Obj, classes: Iterable[Obj]) -> None:
    """Raises a 403 if `new` is marked as the global default and another class already is."""
    if not new.get("globalDefault"):
        return
    name = new["metadata"].get("name")
    for other in classes:
        if other.get("globalDefault") and other["metadata"]["name"] != name:
            raise forbidden(
                resource,
                new,
                f"PriorityClass {other['metadata']['name']} is already marked as default. "
                "Only one default can exist",
            )
