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
        if settings is None:
            continue
        for key, value in _FIXED.get(source, _NONE).items():
            settings.setdefault(key, value)
        if (complete := _SOURCES.get(source)) is not None:
            complete(settings)


def _downward_items(source: Obj) -> None:
    for item in source.get("items") or ():
        default_refs(item)


def _projected(source: Obj) -> None:
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


def default_refs(source: Obj) -> None:
    """Fills in the references of a variable or a file to fields of its pod."""
    if (ref := source.get("fieldRef")) is not None and not ref.get("apiVersion"):
        ref["apiVersion"] = "v1"
    if (ref := source.get("resourceFieldRef")) is not None:
        ref.setdefault("divisor", "0")


_NONE: Final[Obj] = {}
_FIXED: Final[dict[str, Obj]] = {
    "hostPath": {"type": ""},
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
"""The defaults of each source that do not depend on others."""
_SOURCES: Final[dict[str, Callable[[Obj], None]]] = {
    "downwardAPI": _downward_items,
    "projected": _projected,
    "ephemeral": _ephemeral,
    "image": _image,
}
