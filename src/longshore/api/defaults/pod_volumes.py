"""Defaults of a pod's volumes. A volume without any source is an emptyDir."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.api import quantity
from longshore.api.defaults import images
from longshore.api.types import Obj

_FILE_MODE: Final = 0o644  # written as 420 in JSON, which has no octal
_TOKEN_SECONDS: Final = 3600


def default_volume(volume: Obj) -> None:
    if len(volume) <= ("name" in volume):
        volume["emptyDir"] = {}
        return
    for source, settings in volume.items():
        fill = _SOURCES.get(source)
        if fill is not None and settings is not None:
            fill(settings)


def _mode(source: Obj) -> None:
    source.setdefault("defaultMode", _FILE_MODE)


def _host_path(source: Obj) -> None:
    source.setdefault("type", "")


def _iscsi(source: Obj) -> None:
    source.setdefault("iscsiInterface", "default")


def _rbd(source: Obj) -> None:
    source.setdefault("pool", "rbd")
    source.setdefault("user", "admin")
    source.setdefault("keyring", "/etc/ceph/keyring")


def _azure_disk(source: Obj) -> None:
    source.setdefault("cachingMode", "ReadWrite")
    source.setdefault("kind", "Shared")
    source.setdefault("fsType", "ext4")
    source.setdefault("readOnly", False)


def _scale_io(source: Obj) -> None:
    source.setdefault("storageMode", "ThinProvisioned")
    source.setdefault("fsType", "xfs")


def _downward(source: Obj) -> None:
    source.setdefault("defaultMode", _FILE_MODE)
    _downward_items(source)


def _downward_items(source: Obj) -> None:
    for item in source.get("items") or ():
        if (ref := item.get("fieldRef")) is not None:
            default_field_ref(ref)
        if (ref := item.get("resourceFieldRef")) is not None:
            ref.setdefault("divisor", "0")


def _projected(source: Obj) -> None:
    source.setdefault("defaultMode", _FILE_MODE)
    for part in source.get("sources") or ():
        if (downward := part.get("downwardAPI")) is not None:
            _downward_items(downward)
        if (token := part.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", _TOKEN_SECONDS)


def _ephemeral(source: Obj) -> None:
    template = source.get("volumeClaimTemplate")
    if template is not None:
        spec = template.setdefault("spec", {})
        spec.setdefault("volumeMode", "Filesystem")
        if resources := spec.get("resources"):
            quantity.round_up(resources)


def _image(source: Obj) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = images.pull_policy(source.get("reference", ""))


def default_field_ref(ref: Obj) -> None:
    """Fills in the `apiVersion` of a field selector."""
    if not ref.get("apiVersion"):
        ref["apiVersion"] = "v1"


_SOURCES: Final[dict[str, Callable[[Obj], None]]] = {
    "hostPath": _host_path,
    "secret": _mode,
    "configMap": _mode,
    "downwardAPI": _downward,
    "projected": _projected,
    "ephemeral": _ephemeral,
    "image": _image,
    "iscsi": _iscsi,
    "rbd": _rbd,
    "azureDisk": _azure_disk,
    "scaleIO": _scale_io,
}
