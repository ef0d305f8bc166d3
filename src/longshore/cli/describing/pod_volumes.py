"""Volumes: their type and source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from longshore.api.types import Obj
from longshore.cli.describing.description_lines import NONE, Lines


def describe(lines: Lines, volumes: Sequence[Obj], *, template: bool = False) -> None:
    space = "  " if template else ""
    if not volumes:
        lines.add(0, f"{space}Volumes:\t{NONE}")
        return
    lines.add(0, f"{space}Volumes:")
    for volume in volumes:
        lines.add(1, f"{' ' if template else ''}{volume['name']}:")
        for source, write in _WRITERS.items():
            if source in volume:
                write(lines, volume[source])
                break
        else:
            lines.pair(2, "Type", next((key for key in volume if key != "name"), "<unknown>"))


def _simple(type: str, *fields: tuple[str, str, Any]) -> Callable[[Lines, Obj], None]:
    def write(lines: Lines, source: Obj) -> None:
        lines.pair(2, "Type", type)
        for title, key, default in fields:
            value = source.get(key, default)
            lines.pair(2, title, ("true" if value else "false") if isinstance(value, bool) else value)

    return write


def _downward(lines: Lines, source: Obj) -> None:
    lines.pair(2, "Type", "DownwardAPI (a volume populated by information about the pod)")
    lines.add(2, "Items:")
    for item in source.get("items") or ():
        of = item.get("fieldRef", {}).get("fieldPath") or item.get("resourceFieldRef", {}).get("resource", "")
        lines.add(3, f"{of} -> {item['path']}")


def _projected(lines: Lines, source: Obj) -> None:
    lines.pair(2, "Type", "Projected (a volume that contains injected data from multiple sources)")
    for part in source.get("sources") or ():
        if ref := part.get("secret"):
            lines.pair(2, "SecretName", ref.get("name", ""))
            lines.pair(2, "Optional", "true" if ref.get("optional") else "false")
        elif "downwardAPI" in part:
            lines.pair(2, "DownwardAPI", "true")
        elif ref := part.get("configMap"):
            lines.pair(2, "ConfigMapName", ref.get("name", ""))
            lines.pair(2, "Optional", "true" if ref.get("optional") else "false")
        elif ref := part.get("serviceAccountToken"):
            lines.pair(2, "TokenExpirationSeconds", ref.get("expirationSeconds", 3600))


_WRITERS: Final[dict[str, Callable[[Lines, Obj], None]]] = {
    "hostPath": _simple(
        "HostPath (bare host directory volume)", ("Path", "path", ""), ("HostPathType", "type", "")
    ),
    "emptyDir": _simple(
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        ("Medium", "medium", ""),
        ("SizeLimit", "sizeLimit", "<unset>"),
    ),
    "configMap": _simple(
        "ConfigMap (a volume populated by a ConfigMap)", ("Name", "name", ""), ("Optional", "optional", False)
    ),
    "secret": _simple(
        "Secret (a volume populated by a Secret)",
        ("SecretName", "secretName", ""),
        ("Optional", "optional", False),
    ),
    "persistentVolumeClaim": _simple(
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        ("ClaimName", "claimName", ""),
        ("ReadOnly", "readOnly", False),
    ),
    "downwardAPI": _downward,
    "projected": _projected,
}
