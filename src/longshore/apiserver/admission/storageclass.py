"""Claims that name no storage class get the default one, if the cluster has one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api.types import Obj

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
