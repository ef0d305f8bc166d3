"""Volume mounts and block devices of a container: each names a volume of the pod, at a place of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from longshore.api import field
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation.pod import paths

Volumes = Mapping[str, Obj]
"""The pod's valid volumes by name."""

_PROPAGATION: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(container: Obj, volumes: Volumes, path: str, found: list[FieldError]) -> None:
    """`path` is the container's. Errors about sub-paths name the list without an index, as upstream."""
    mounts: Sequence[Obj] = container["volumeMounts"]
    devices: Sequence[Obj] = container.get("volumeDevices") or ()
    here = f"{path}.volumeMounts"
    seen: set[str] = set()
    for i, mount in enumerate(mounts):
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            found.append(field.required(f"{here}[{i}].name"))
        if name not in volumes:
            found.append(field.not_found(f"{here}[{i}].name", name))
        if not place:
            found.append(field.required(f"{here}[{i}].mountPath"))
        if place in seen:
            found.append(field.invalid(f"{here}[{i}].mountPath", place, "must be unique"))
        seen.add(place)
        if devices:
            if any((d.get("name") or "") == name for d in devices):
                text = "must not already exist in volumeDevices"
                found.append(field.invalid(f"{here}[{i}].name", name, text))
            if any((d.get("devicePath") or "") == place for d in devices):
                text = "must not already exist as a path in volumeDevices"
                found.append(field.invalid(f"{here}[{i}].mountPath", place, text))
        if len(mount) > 2:
            _mount_options(mount, container, here, i, found)


def _mount_options(mount: Obj, container: Obj, path: str, i: int, found: list[FieldError]) -> None:
    if sub := mount.get("subPath"):
        paths.descending(sub, f"{path}.subPath", found)
    if expression := mount.get("subPathExpr"):
        if sub:
            text = "subPathExpr and subPath are mutually exclusive"
            found.append(field.invalid(f"{path}[{i}].subPathExpr", expression, text))
        paths.descending(expression, f"{path}.subPathExpr", found)
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        found += field.one_of(f"{path}.mountPropagation", propagation, _PROPAGATION)
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            found.append(field.forbidden(f"{path}.mountPropagation", text))
    recursive = mount.get("recursiveReadOnly")
    if recursive is None or recursive == "Disabled":
        return
    if recursive not in _RECURSIVE:
        found.append(field.not_supported(f"{path}.recursiveReadOnly", recursive, _RECURSIVE))
        return
    if not mount.get("readOnly"):
        text = "may only be specified when readOnly is true"
        found.append(field.forbidden(f"{path}.recursiveReadOnly", text))
    if propagation not in (None, "None"):
        text = "may only be specified when mountPropagation is None or not specified"
        found.append(field.forbidden(f"{path}.recursiveReadOnly", text))


def validate_devices(container: Obj, volumes: Volumes, path: str, found: list[FieldError]) -> None:
    """Checks block devices. `path` is the container's."""
    mounts: Sequence[Obj] = container.get("volumeMounts") or ()
    here = f"{path}.volumeDevices"
    names: set[str] = set()
    places: set[str] = set()
    for i, device in enumerate(container["volumeDevices"]):
        name, place = device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            found.append(field.required(f"{here}[{i}].name"))
        if name in names:
            found.append(field.invalid(f"{here}[{i}].name", name, "must be unique"))
        if volume is None:
            found.append(field.not_found(f"{here}[{i}].name", name))
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            found.append(field.invalid(f"{here}[{i}].name", name, text))
        if not place:
            found.append(field.required(f"{here}[{i}].devicePath"))
        if place in places:
            found.append(field.invalid(f"{here}[{i}].devicePath", place, "must be unique"))
        if paths.climbs(place):
            found.append(field.invalid(f"{here}[{i}].devicePath", place, "can not contain backsteps ('..')"))
        else:
            places.add(place)
        if any((m.get("name") or "") == name for m in mounts):
            found.append(field.invalid(f"{here}[{i}].name", name, "must not already exist in volumeMounts"))
        if any((m.get("mountPath") or "") == place for m in mounts):
            text = "must not already exist as a path in volumeMounts"
            found.append(field.invalid(f"{here}[{i}].devicePath", place, text))
        if name:
            names.add(name)
