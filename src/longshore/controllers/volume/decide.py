"""Decides about one claim, or one volume. Pure functions.

The texts of events are Kubernetes'. Data is deleted only in directories that longshore made for a claim, and
only once that claim is gone and the volume's reclaim policy is Delete. A volume reserved for a claim comes
first, whatever its size; then the smallest volume that is large enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

import msgspec
from msgspec.structs import replace

from longshore.api import quantity
from longshore.api.facts import own_names
from longshore.api.selectors import labels
from longshore.api.types import Obj
from longshore.controllers.volume import names
from longshore.controllers.volume.plan import (
    Bind,
    Lose,
    Protect,
    Provision,
    Reclaim,
    SetClass,
    SetPhase,
    Unprotect,
    VolumePlan,
)
from longshore.machinery.reasons import Number, Reason

IN_USE_SECONDS: Final = 1.0
"""Seconds until the next sync of a deleted claim that is still used: pods are not watched."""


class ClaimView(msgspec.Struct, frozen=True):
    """The input of `claim`."""

    claim: Obj
    volumes: Sequence[Obj] = ()
    classes: Sequence[Obj] = ()
    in_use: bool = False
    """Whether a pod uses the claim; checked only if the claim is being deleted."""


class VolumeView(msgspec.Struct, frozen=True):
    """The input of `volume`."""

    volume: Obj
    holder: Obj | None
    """The claim with the name in the volume's claimRef."""
    is_ours: bool
    """Whether longshore made the volume's directory."""


def claim(view: ClaimView) -> VolumePlan:
    """Returns the next step for a claim."""
    obj = view.claim
    if names.is_going(obj):
        return _going_claim(view)
    by_name = {volume["metadata"]["name"]: volume for volume in view.volumes}
    if chosen := obj["spec"].get("volumeName"):
        plan = _chosen(obj, by_name.get(chosen))
    else:
        plan = _unbound(obj, by_name.values(), {c["metadata"]["name"]: c for c in view.classes})
    return _protected(obj, plan, names.CLAIM_PROTECTION)


def _protected(obj: Obj, plan: VolumePlan, finalizer: str) -> VolumePlan:
    """Adds the finalizer to a claim or volume that needs no other step, so that it stays while it is used."""
    if plan.step is not None or finalizer in (obj["metadata"].get("finalizers") or ()):
        return plan
    why = Reason("Protected", {"finalizer": finalizer})
    return replace(plan, step=Protect(finalizer), why=(*plan.why, why))


def _going_claim(view: ClaimView) -> VolumePlan:
    if names.CLAIM_PROTECTION not in (view.claim["metadata"].get("finalizers") or ()):
        return _left("Deleted")
    if view.in_use:
        return replace(_left("InUse"), look_again=IN_USE_SECONDS)
    return _step(Unprotect(names.CLAIM_PROTECTION), "Unused")


def _chosen(obj: Obj, volume: Obj | None) -> VolumePlan:
    name = obj["spec"]["volumeName"]
    if names.BIND_COMPLETED in names.marks_of(obj):
        return _bound(obj, volume)
    if volume is None:
        return _left("VolumeMissing", volume=name)
    if not is_free_for(volume, obj):
        return _left("VolumeTaken", volume=name)
    if names.is_going(volume):
        return _left("VolumeGoing", volume=name)
    if wrong := why_not(volume, obj):
        return _plan_with_event("VolumeMismatch", volume=name, problem=wrong)
    return _step(Bind(volume), "VolumeNamed", volume=name)


def _bound(obj: Obj, volume: Obj | None) -> VolumePlan:
    if (obj.get("status") or {}).get("phase") == "Lost":
        return _left("Lost")
    if volume is None:
        return _plan_with_event("ClaimLost", Lose())
    if not is_free_for(volume, obj):
        return _plan_with_event("ClaimMisbound", Lose())
    name = volume["metadata"]["name"]
    if _is_settled(obj, volume):
        return _left("Bound", volume=name)
    return _step(Bind(volume), "BindingUnfinished", volume=name)


def _is_settled(obj: Obj, volume: Obj) -> bool:
    ref, status = volume["spec"].get("claimRef") or {}, obj.get("status") or {}
    return status.get("phase") == "Bound" and ref.get("uid") == obj["metadata"]["uid"]


def _unbound(obj: Obj, volumes: Iterable[Obj], classes: dict[str, Obj]) -> VolumePlan:
    wanted = obj["spec"].get("storageClassName")
    if wanted is None and (default := _default(classes.values())):
        return _step(SetClass(default), "DefaultClass", name=default)
    found = classes.get(wanted) if wanted else None
    waits = found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"
    if waits and names.SELECTED_NODE not in names.marks_of(obj):
        return _plan_with_event("WaitForFirstConsumer")
    if (volume := best(obj, volumes)) is not None:
        return _step(Bind(volume), "VolumeFound", volume=volume["metadata"]["name"])
    if not wanted:
        return _plan_with_event("FailedBinding")
    if found is None:
        return _plan_with_event("ProvisioningFailed", className=wanted)
    return _made(obj, found)


def _made(obj: Obj, found: Obj) -> VolumePlan:
    provisioner, name = found["provisioner"], found["metadata"]["name"]
    if provisioner == names.NO_PROVISIONER:
        return _plan_with_event("FailedBinding", className=name)
    if provisioner != own_names.LOCAL_PROVISIONER:
        return _plan_with_event("ExternalProvisioning", provisioner=provisioner)
    spec = obj["spec"]
    if spec.get("volumeMode") == "Block":
        return _plan_with_event("BlockDeviceWanted", className=name)
    if spec.get("selector") is not None:
        return _plan_with_event("SelectorWanted", className=name)
    if spec.get("dataSource") is not None or spec.get("dataSourceRef") is not None:
        return _plan_with_event("DataSourceWanted", className=name)
    size = spec["resources"]["requests"]["storage"]
    return _step(Provision(found), "VolumeProvisioned", className=name, storage=size)


def _default(classes: Iterable[Obj]) -> str:
    """Returns the newest default class; of equally new ones the first by name, as at the claim's creation."""
    marked = [c for c in classes if names.marks_of(c).get(names.DEFAULT_CLASS) == "true"]
    marked.sort(key=lambda c: str(c["metadata"]["name"]))
    newest = max(marked, key=lambda c: str(c["metadata"]["creationTimestamp"]), default=None)
    name: str = newest["metadata"]["name"] if newest else ""
    return name


def volume(view: VolumeView) -> VolumePlan:
    """Returns the next step for a volume."""
    obj, holder = view.volume, view.holder
    phase = (obj.get("status") or {}).get("phase")
    ref = obj["spec"].get("claimRef")
    if ref is None or (holder is not None and ref.get("uid") and holder["metadata"]["uid"] != ref["uid"]):
        holder = None
    if names.is_going(obj):
        return _going_volume(obj, phase, holder, view.is_ours)
    if ref is None or not ref.get("uid"):
        plan = _phase(phase, "Available")
    elif holder is None:
        plan = _released(obj, phase, view.is_ours)
    elif holder["spec"].get("volumeName") == obj["metadata"]["name"]:
        plan = _phase(phase, "Bound", claim=_title(ref))
    else:
        plan = _left("ClaimChosen", claim=_title(ref))
    return _protected(obj, plan, names.VOLUME_PROTECTION)


def _going_volume(obj: Obj, phase: str | None, holder: Obj | None, is_ours: bool) -> VolumePlan:
    """Decides about a volume that is being deleted: it stays while a claim uses it, and is reclaimed if its
    policy is Delete. Its finalizer is removed after the data, so that a failed removal is retried."""
    if phase == "Bound" and holder is not None:
        return _left("InUse", holder="claim")
    if names.VOLUME_PROTECTION not in (obj["metadata"].get("finalizers") or ()):
        return _left("Deleted")
    had_claim = holder is None and (obj["spec"].get("claimRef") or {}).get("uid")
    if had_claim and is_ours and obj["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
        return _step(Reclaim(), "DataDeleted")
    return _step(Unprotect(names.VOLUME_PROTECTION), "Unused", holder="claim")


def _released(obj: Obj, phase: str | None, is_ours: bool) -> VolumePlan:
    policy = obj["spec"].get("persistentVolumeReclaimPolicy")
    if policy == "Delete" and is_ours:
        return _step(Reclaim(), "DataDeleted", policy=policy)
    if policy == "Retain":
        return _phase(phase, "Released", policy=policy)
    if phase == "Failed":
        return _left("Failed", policy=policy)
    if policy == "Delete":
        return _failed("VolumeFailedDelete")
    return _failed("VolumeFailedRecycle")


def _left(code: str, **numbers: Number) -> VolumePlan:
    return VolumePlan(None, (Reason(code, numbers),))


def _step(
    step: Bind | SetClass | Unprotect | Reclaim | Provision, code: str, **numbers: Number
) -> VolumePlan:
    return VolumePlan(step, (Reason(code, numbers),))


def _plan_with_event(code: str, step: Lose | SetPhase | None = None, **numbers: Number) -> VolumePlan:
    """Returns a plan with the Event of its reason."""
    why = Reason(code, numbers)
    return VolumePlan(step, (why,), why.event)


def _phase(phase: str | None, right: str, **numbers: Number) -> VolumePlan:
    why = (Reason(right, numbers),)
    return VolumePlan(None, why) if phase == right else VolumePlan(SetPhase(right), why)


def _failed(code: str) -> VolumePlan:
    return _plan_with_event(code, SetPhase("Failed", Reason(code).words))


def _title(ref: Obj) -> str:
    return f"{ref.get('namespace') or ''}/{ref.get('name') or ''}"


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
