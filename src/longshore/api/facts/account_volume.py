"""The volume with a service account's files, as Kubernetes' admission adds it to the spec of a pod. Pure."""

from __future__ import annotations

import zlib
from typing import Final

from longshore.api.types import Obj

TARGET: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS: Final = 3607
"""Kubernetes' hour for these tokens. Its seven seconds distinguish it from a token that a pod asks for."""
_PREFIX: Final = "kube-api-access-"
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LETTERS: Final = 5


def source() -> Obj:
    """The projected volume."""
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 0o644,
    }


_SOURCE: Final = source()


def is_wanted(spec: Obj, account: Obj) -> bool:
    """Whether a pod gets the files of its account. The pod's setting overrides the account's."""
    for each in (spec, account):
        asked = each.get("automountServiceAccountToken")
        if asked is not None:
            return bool(asked)
    return True


def name_in(spec: Obj) -> str:
    """The name of the service account's volume in a spec; empty if it has none."""
    for volume in spec.get("volumes") or ():
        if volume["name"].startswith(_PREFIX) and volume.get("projected") == _SOURCE:
            return str(volume["name"])
    return ""


def others(spec: Obj) -> list[Obj]:
    """The volumes of a pod except the one of the service account."""
    own, volumes = name_in(spec), spec.get("volumes") or []
    return [volume for volume in volumes if volume["name"] != own] if own else volumes


def add(spec: Obj, account: str) -> None:
    """Mounts the volume into all containers that have nothing at its path. Its name depends only on the
    account; upstream's name is random, so any name will do."""
    present = [volume["name"] for volume in spec.get("volumes") or ()]
    name = next((each for each in present if each.startswith(_PREFIX)), "")
    has_volume = bool(name)
    name = name or _new_name(account)
    mount = {"name": name, "readOnly": True, "mountPath": TARGET}
    is_mounted = False
    for part in ("initContainers", "containers"):
        for container in spec.get(part) or ():
            mounts = container.get("volumeMounts") or []
            if not any((each.get("mountPath") or "").rstrip("/") == TARGET for each in mounts):
                container["volumeMounts"] = [*mounts, dict(mount)]
                is_mounted = True
    if is_mounted and not has_volume:
        spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "projected": source()}]


def _new_name(account: str) -> str:
    number, letters = zlib.crc32(account.encode()), ""
    for _ in range(_SUFFIX_LETTERS):
        number, at = divmod(number, len(_LETTERS))
        letters += _LETTERS[at]
    return _PREFIX + letters
