"""Volume sources of storage systems. longshore mounts none of them, but checks them, since templates are also
used in real clusters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from longshore.api import field, names
from longshore.api.field import FieldError
from longshore.api.types import Obj

_is_iqn: Final = re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)\Z").search
_is_eui: Final = re.compile(r"eui.[A-Za-z0-9]{16}").fullmatch
_is_naa: Final = re.compile(r"naa.[A-Za-z0-9]{32}").fullmatch
_CACHING: Final = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED_URI: Final = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
_BLOB_URI: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_MAX_INITIATOR_CHARACTERS: Final = 64


def needs(*keys: str) -> Callable[[Obj, str, list[FieldError]], None]:
    """A check that all these keys are present and not empty."""

    def check(source: Obj, path: str, found: list[FieldError]) -> None:
        found += field.missing(source, path, *keys)

    return check


def disk(key: str) -> Callable[[Obj, str, list[FieldError]], None]:
    """A check of a disk whose name is under this key."""

    def check(source: Obj, path: str, found: list[FieldError]) -> None:
        found += field.missing(source, path, key)
        partition = source.get("partition") or 0
        if not 0 <= partition <= 255:
            # The text says 1 although 0, which means unset, is fine.
            text = "must be between 1 and 255, inclusive"
            found.append(field.invalid(f"{path}.partition", partition, text))

    return check


def _iscsi_name_problem(name: str) -> str:
    kind = name[:3]
    if kind not in ("iqn", "eui", "naa"):
        return "must be valid format starting with iqn, eui, or naa"
    fine = {"iqn": _is_iqn, "eui": _is_eui, "naa": _is_naa}[kind](name)
    return "" if fine else "must be valid format"


def iscsi(source: Obj, path: str, found: list[FieldError]) -> None:
    found += field.missing(source, path, "targetPortal")
    iqn = source.get("iqn") or ""
    if not iqn:
        found.append(field.required(f"{path}.iqn"))
    elif problem := _iscsi_name_problem(iqn):
        found.append(field.invalid(f"{path}.iqn", iqn, problem))
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        found.append(field.invalid(f"{path}.lun", lun, "must be between 0 and 255, inclusive"))
    chap = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if chap and source.get("secretRef") is None:
        found.append(field.required(f"{path}.secretRef"))
    initiator = source.get("initiatorName")
    if initiator is not None and (problem := _iscsi_name_problem(initiator)):
        found.append(field.invalid(f"{path}.initiatorname", initiator, problem))


def validate_initiator_length(source: Obj, volume: str, path: str, found: list[FieldError]) -> None:
    if len(f"{volume}:{source.get('targetPortal') or ''}") > _MAX_INITIATOR_CHARACTERS:
        text = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
            "iscsi.initiatorName is specified."
        )
        found.append(field.invalid(f"{path}.name", volume, text))


def flocker(source: Obj, path: str, found: list[FieldError]) -> None:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uuid:
        found.append(field.required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        found.append(field.invalid(path, "resource", text))
    if "/" in name:
        found.append(field.invalid(f"{path}.datasetName", name, "must not contain '/'"))


def cinder(source: Obj, path: str, found: list[FieldError]) -> None:
    found += field.missing(source, path, "volumeID")
    _secret_name(source, path, found)


def _secret_name(source: Obj, path: str, found: list[FieldError]) -> None:
    ref = source.get("secretRef")
    if ref is not None and not ref.get("name"):
        found.append(field.required(f"{path}.secretRef.name"))


def quobyte(source: Obj, path: str, found: list[FieldError]) -> None:
    registry = source.get("registry") or ""
    pair = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        found.append(field.required(f"{path}.registry", pair))
    elif len(source.get("tenant") or "") >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        found.append(field.required(f"{path}.tenant", text))
    else:
        for part in registry.split(","):
            if part.count(":") != 1 and not (part.startswith("[") and "]:" in part):
                found.append(field.invalid(f"{path}.registry", registry, pair))
    found += field.missing(source, path, "volume")


def fibre_channel(source: Obj, path: str, found: list[FieldError]) -> None:
    targets, ids = source.get("targetWWNs") or [], source.get("wwids") or []
    if not targets and not ids:
        text = "must specify either targetWWNs or wwids, but not both"
        found.append(field.required(f"{path}.targetWWNs", text))
    if targets and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        found.append(field.invalid(f"{path}.targetWWNs", targets, text))
    if targets:
        lun = source.get("lun")
        if lun is None:
            found.append(field.required(f"{path}.lun", "lun is required if targetWWNs is specified"))
        elif not 0 <= lun <= 255:
            found.append(field.invalid(f"{path}.lun", lun, "must be between 0 and 255, inclusive"))


def flex(source: Obj, path: str, found: list[FieldError]) -> None:
    found += field.missing(source, path, "driver")
    for key in source.get("options") or ():
        namespace = "." + key.partition("/")[0].lower()
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            found.append(field.invalid(f"{path}.options[{key}]", key, text))


def azure_disk(source: Obj, path: str, found: list[FieldError]) -> None:
    uri = source.get("diskURI") or ""
    found += field.missing(source, path, "diskName", "diskURI")
    found += field.unsupported(source, "cachingMode", path, _CACHING)
    found += field.unsupported(source, "kind", path, _DISK_KINDS)
    kind = source.get("kind")
    if kind is None:
        return
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        found.append(field.not_supported(f"{path}.diskURI", uri, [_MANAGED_URI]))
    if kind != "Managed" and not uri.startswith("https://"):
        found.append(field.not_supported(f"{path}.diskURI", uri, [_BLOB_URI]))


def storage_os(source: Obj, path: str, found: list[FieldError]) -> None:
    name = source.get("volumeName") or ""
    found += field.named(f"{path}.volumeName", name, names.dns1123_label)
    if space := source.get("volumeNamespace"):
        found += [field.invalid(f"{path}.volumeNamespace", space, t) for t in names.dns1123_label(space)]
    _secret_name(source, path, found)
