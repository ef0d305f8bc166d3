"""Columns of volumes, claims and storage classes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from longshore.api.types import Obj
from longshore.apiserver.tables.cells import AGE, NAME, UNSET, Printer, age_of, column, name_of, wide

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _modes(modes: Sequence[str] | None) -> str:
    """Access modes in short, always in the same order."""
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def _phase(obj: Obj) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str(obj.get("status", {}).get("phase", ""))


def _class(obj: Obj) -> str:
    """The storage class; the older annotation takes precedence over the field."""
    annotations = obj["metadata"].get("annotations") or {}
    if _CLASS_ANNOTATION in annotations:
        return str(annotations[_CLASS_ANNOTATION])
    return obj.get("spec", {}).get("storageClassName") or ""


def _or_unset(value: str | None) -> str:
    return UNSET if value is None else value


def _claim(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    volume = spec.get("volumeName", "")
    return [
        name_of(obj),
        _phase(obj),
        volume,
        (status.get("capacity") or {}).get("storage", "0") if volume else "",
        _modes(status.get("accessModes")) if volume else "",
        _class(obj),
        _or_unset(spec.get("volumeAttributesClassName")),
        age_of(obj, now),
        _or_unset(spec.get("volumeMode")),
    ]


def _volume(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        (spec.get("capacity") or {}).get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(obj),
        _or_unset(spec.get("volumeAttributesClassName")),
        status.get("reason", ""),
        age_of(obj, now),
        _or_unset(spec.get("volumeMode")),
    ]


def _storage_class(obj: Obj, now: datetime) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    default = any(annotations.get(key) == "true" for key in _DEFAULT_ANNOTATIONS)
    return [
        name_of(obj) + (" (default)" if default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age_of(obj, now),
    ]


PRINTERS: Final = {
    ("", "PersistentVolumeClaim"): Printer(
        (
            NAME,
            column("Status", "Whether the claim has a volume."),
            column("Volume", "Name of the volume."),
            column("Capacity", "Size of the volume."),
            column("Access Modes", "How the volume may be mounted."),
            column("StorageClass", "Storage class of the claim."),
            column("VolumeAttributesClass", "Attributes class of the claim."),
            AGE,
            wide("VolumeMode", "Filesystem or Block."),
        ),
        _claim,
    ),
    ("", "PersistentVolume"): Printer(
        (
            NAME,
            column("Capacity", "Size of the volume."),
            column("Access Modes", "How the volume may be mounted."),
            column("Reclaim Policy", "What becomes of the volume after its claim."),
            column("Status", "Whether the volume is claimed."),
            column("Claim", "Claim that holds the volume."),
            column("StorageClass", "Storage class of the volume."),
            column("VolumeAttributesClass", "Attributes class of the volume."),
            column("Reason", "Why the volume is in this state."),
            AGE,
            wide("VolumeMode", "Filesystem or Block."),
        ),
        _volume,
    ),
    ("storage.k8s.io", "StorageClass"): Printer(
        (
            NAME,
            column("Provisioner", "What makes the volumes."),
            column("ReclaimPolicy", "What becomes of volumes after their claim."),
            column("VolumeBindingMode", "When a claim gets its volume."),
            column("AllowVolumeExpansion", "Whether claims may grow."),
            AGE,
        ),
        _storage_class,
    ),
}
