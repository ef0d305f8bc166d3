"""PersistentVolumes: storage that exists somewhere; its source can never change."""

from __future__ import annotations

import posixpath
from typing import Final

from longshore.api import field, names, quantity
from longshore.api.defaults import fill
from longshore.api.defaults.pod_volumes import default_volume
from longshore.api.field import FieldError
from longshore.api.quantity import round_up_list
from longshore.api.strategy import Context, Strategy, keep_spec
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import affinity

SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte",
    "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk",
    "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM: Final = ("Delete", "Recycle", "Retain")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip


def source_of(spec: Obj) -> Obj:
    """The part of the spec that says where the storage is."""
    return {key: spec[key] for key in SOURCES if spec.get(key) is not None}


def validate(volume: Obj) -> list[FieldError]:
    spec = volume["spec"]
    found = _access_modes(spec) + _capacity(spec)
    policy = spec["persistentVolumeReclaimPolicy"]
    found += field.one_of("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    wanted = (spec.get("nodeAffinity") or {}).get("required")
    if spec.get("nodeAffinity") is not None:
        if wanted is None:
            text = "must specify required node constraints"
            found.append(field.required("spec.nodeAffinity.required", text))
        else:
            affinity.validate_node_selector(wanted, "spec.nodeAffinity.required", found)
    found += _sources(spec)
    host_path = spec.get("hostPath") or {}
    if policy == "Recycle" and posixpath.normpath(host_path.get("path") or ".") == "/":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        found.append(field.forbidden("spec.persistentVolumeReclaimPolicy", text))
    class_ = spec.get("storageClassName")
    if class_:
        found += [field.invalid("spec.storageClassName", class_, t) for t in names.dns1123_subdomain(class_)]
    found += field.one_of("spec.volumeMode", spec["volumeMode"], _VOLUME_MODES)
    return found


def _access_modes(spec: Obj) -> list[FieldError]:
    modes = spec.get("accessModes") or ()
    path = "spec.accessModes"
    found = [] if modes else [field.required(path)]
    found += [field.not_supported(path, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        found.append(field.forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return found


def _capacity(spec: Obj) -> list[FieldError]:
    capacity = spec.get("capacity") or {}
    found = [] if capacity else [field.required("spec.capacity")]
    if list(capacity) != ["storage"]:
        found.append(field.not_supported("spec.capacity", capacity or None, ("storage",)))
    for name, amount in capacity.items():
        if quantity.compare(amount, "0") <= 0:
            found.append(field.invalid(f"spec.capacity[{name}]", amount, "must be greater than zero"))
    return found


def _sources(spec: Obj) -> list[FieldError]:
    given = list(source_of(spec))
    if not given:
        return [field.required("spec", "must specify a volume type")]
    text = "may not specify more than 1 volume type"
    found = [field.forbidden(f"spec.{key}", text) for key in given[1:]]
    source = spec[given[0]]
    match given[0]:
        case "hostPath":
            found += _path(source, "spec.hostPath", absolute=False)
            if source.get("type", "") not in _HOST_PATH_TYPES:
                kinds = sorted(_HOST_PATH_TYPES)
                found.append(field.not_supported("spec.hostPath.type", source["type"], kinds))
        case "local":
            found += _path(source, "spec.local", absolute=False)
            if not (spec.get("nodeAffinity") or {}).get("required"):
                found.append(field.required("spec.nodeAffinity", "Local volume requires node affinity"))
        case "nfs":
            found += field.missing(source, "spec.nfs", "server")
            found += _path(source, "spec.nfs", absolute=True)
        case "csi":
            found += field.missing(source, "spec.csi", "driver", "volumeHandle")
    return found


def _path(source: Obj, path: str, *, absolute: bool) -> list[FieldError]:
    where = source.get("path", "")
    if not where:
        return [field.required(f"{path}.path")]
    if absolute:
        if not where.startswith("/"):
            return [field.invalid(f"{path}.path", where, "must be an absolute path")]
        return []
    if ".." in where.split("/"):
        return [field.invalid(f"{path}.path", where, "must not contain '..'")]
    return []


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_create(new["metadata"], namespaced=False, name_rule="subdomain")
    found += validate(new)
    spec, before = new["spec"], old["spec"]
    source, was = source_of(spec), source_of(before)
    if source != was:
        text = "spec.persistentvolumesource is immutable after creation\n" + field.diff(was, source)
        found.append(field.forbidden("spec.persistentvolumesource", text))
    found += field.changed(spec, before, "volumeMode")
    constraints = spec.get("nodeAffinity")
    if before.get("nodeAffinity") is not None and constraints != before["nodeAffinity"]:
        text = f"{field.IMMUTABLE}, except for updating from beta label to GA"
        found.append(field.invalid("nodeAffinity", constraints, text))
    if before.get("volumeAttributesClassName") and not spec.get("volumeAttributesClassName"):
        text = "update from non-nil value to nil is forbidden"
        found.append(field.forbidden("spec.volumeAttributesClassName", text))
    return found


def _default(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    fill(spec, persistentVolumeReclaimPolicy="Retain")
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    if spec.get("capacity"):
        round_up_list(spec["capacity"])
    source = source_of(spec)
    if source:
        default_volume(source)
    status = obj.get("status") or {}
    if not status.get("phase"):
        obj["status"] = {**status, "phase": "Pending"}


def _prepare_create(obj: Obj, ctx: Context) -> None:
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": ctx.now}


def _prepare_status(new: Obj, old: Obj, ctx: Context) -> None:
    keep_spec(new, old)
    status, before = dict(new.get("status") or {}), old.get("status") or {}
    moved = status.get("phase") != before.get("phase")
    if moved and status.get("lastPhaseTransitionTime") == before.get("lastPhaseTransitionTime"):
        status["lastPhaseTransitionTime"] = ctx.now
    new["status"] = status


STRATEGY: Final = Strategy(
    counts_generation=False,
    delete_answers_object=True,
    default=_default,
    prepare_create=_prepare_create,
    validate_create=validate,
    validate_update=validate_update,
    prepare_status=_prepare_status,
    validate_status=metadata.again(lambda obj: []),
)
