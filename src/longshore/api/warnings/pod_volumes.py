"""Warnings about volume sources that no longer work, and about files of one volume with the same path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from longshore.api import field, quantity
from longshore.api.types import Obj

_RETIRED: Final = (
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("ephemeral", "", ""),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)
"""JSON name, name in the warning, text; in the order of the warnings."""

_Placed = tuple[str, str]
"""A path and its origin."""


def warnings(volumes: list[Obj], path: str) -> list[str]:
    found: list[str] = []
    for i, volume in enumerate(volumes):
        for kind, shown, text in _RETIRED:
            if volume.get(kind) is None:
                continue
            if kind == "ephemeral":
                found += _claim(volume[kind], f"{path}[{i}].ephemeral")
            else:
                found.append(f"{path}[{i}].{shown}: {text}")
    for volume in volumes:
        found += _overlaps(volume)
    return found


def _claim(source: Obj, path: str) -> Iterator[str]:
    spec = (source.get("volumeClaimTemplate") or {}).get("spec") or {}
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is not None and quantity.milli_value(size) % 1000:
        where = f"{path}.volumeClaimTemplate.spec.resources.requests[storage]"
        yield f"{where}: fractional byte value {field.quoted(size)} is invalid, must be an integer"


def _overlaps(volume: Obj) -> Iterator[str]:
    name = f"volume {field.quoted(volume.get('name') or '')}"
    for kind, key in (("configMap", "name"), ("secret", "secretName"), ("downwardAPI", "")):
        if (source := volume.get(kind)) is not None:
            files = [(item.get("path") or "", "") for item in source.get("items") or ()]
            yield from _report(files, [], f"{name} ({_label(source, kind, key)}): overlapping paths")
    if (source := volume.get("projected")) is not None:
        yield from _projected(source, name)


def _label(source: Obj, kind: str, key: str) -> str:
    label = f"{kind[0].upper()}{kind[1:]}"
    return f"{label} {field.quoted(source.get(key) or '')}" if key else label


def _projected(source: Obj, name: str) -> Iterator[str]:
    earlier: list[_Placed] = []
    for part in source.get("sources") or ():
        if not part:
            yield f"{name} (Projected) has no sources provided"
            continue
        files = _files(part)
        yield from _report(files, earlier, f"{name} (Projected): overlapping paths")
        earlier += files


def _files(part: Obj) -> list[_Placed]:
    for kind, key in (("configMap", "name"), ("secret", "name"), ("downwardAPI", "")):
        if items := (part.get(kind) or {}).get("items"):
            label = _label(part[kind], kind, key)
            return [(item.get("path") or "", label) for item in items]
    token = part.get("serviceAccountToken")
    return [] if token is None else [(token.get("path") or "", "ServiceAccountToken")]


def _report(files: list[_Placed], earlier: list[_Placed], text: str) -> Iterator[str]:
    """Compares every file with all files before it."""
    before = list(earlier)
    for path, origin in files:
        path = path.rstrip("/")
        for other, source in before:
            if path and other and _overlap(path, other.rstrip("/")):
                yield f"{text}: {_shown(path, origin)} with {_shown(other, source)}"
        before.append((path, origin))


def _overlap(a: str, b: str) -> bool:
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def _shown(path: str, origin: str) -> str:
    return f"{field.quoted(path)} ({origin})" if origin else field.quoted(path)
