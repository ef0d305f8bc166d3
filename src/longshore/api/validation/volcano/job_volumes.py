"""Volumes of a Volcano Job: a path, and a claim that is either there or to be made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api import gotext, names
from longshore.api.types import Obj

_BOTH: Final = (
    "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
    "If you want to create a new PVC, you do not need to specify VolumeClaimName"
)


def validate(volumes: Iterable[Obj]) -> str:
    """The first thing wrong."""
    paths: set[str] = set()
    for volume in volumes:
        path, name = volume.get("mountPath", ""), volume.get("volumeClaimName", "")
        if not path:
            return " mountPath is required;"
        if path in paths:
            return f" duplicated mountPath: {path};"
        paths.add(path)
        has_claim = volume.get("volumeClaim") is not None
        if not has_claim and not name:
            return " either VolumeClaim or VolumeClaimName must be specified;"
        if has_claim and name:
            return _BOTH
        if name and (problems := names.dns1123_subdomain(name)):
            return f"invalid VolumeClaimName {name} : {gotext.plain(problems)}"
    return ""
