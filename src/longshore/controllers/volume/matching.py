"""Finds a volume for a claim. Pure.

A volume reserved for the claim comes first, whatever its size; then the smallest volume that is large enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from longshore.api import quantity
from longshore.api.selectors import labels
from longshore.api.types import Obj
from longshore.controllers.volume import names


def best(claim: Obj, volumes: Iterable[Obj]) -> Obj | None:
    """Returns the volume to bind; None if no free one matches."""
    fitting = []
    for volume in volumes:
        if names.is_going(volume) or not is_free_for(volume, claim):
            continue
        if volume["spec"].get("claimRef") is not None:
            return volume
        if why_not(volume, claim) == "" and _selected(volume, claim):
            fitting.append(volume)
    return min(fitting, key=lambda v: (_size(v), v["metadata"]["name"]), default=None)


def is_free_for(volume: Obj, claim: Obj) -> bool:
    """Whether the volume is neither bound to nor reserved for another claim."""
    ref = volume["spec"].get("claimRef")
    if ref is None:
        return (volume.get("status") or {}).get("phase") in ("Available", "Pending", None)
    meta = claim["metadata"]
    if (ref.get("namespace"), ref.get("name")) != (meta["namespace"], meta["name"]):
        return False
    return ref.get("uid") in (None, "", meta["uid"])


def why_not(volume: Obj, claim: Obj) -> str:
    """Returns why the volume does not match the claim, in Kubernetes' words; empty if it does."""
    wanted, spec = claim["spec"], volume["spec"]
    if quantity.parse(_request(claim)).amount > _size(volume):
        return "requested PV is too small"
    if (spec.get("storageClassName") or "") != (wanted.get("storageClassName") or ""):
        return "storageClassName does not match"
    if (spec.get("volumeMode") or "Filesystem") != (wanted.get("volumeMode") or "Filesystem"):
        return "incompatible volumeMode"
    if not set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ()):
        return "incompatible accessMode"
    return ""


def _selected(volume: Obj, claim: Obj) -> bool:
    selector = claim["spec"].get("selector")
    return selector is None or labels.from_selector(selector).matches(volume["metadata"].get("labels") or {})


def _size(volume: Obj) -> Decimal:
    return quantity.parse((volume["spec"].get("capacity") or {}).get("storage") or "0").amount


def _request(claim: Obj) -> str:
    return ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage") or "0"
