"""The decisions about one claim, or one volume. Pure functions of what is there.

The words of events are Kubernetes'. Data is deleted only in directories that longshore made for a claim, and
only once that claim is gone and its volume's policy says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.controllers.volume import matching, names
from longshore.controllers.volume.plan import (
    Bind,
    Event,
    Lose,
    Plan,
    Protect,
    Provision,
    Reclaim,
    SetClass,
    SetPhase,
    Unprotect,
)
from longshore.machinery.reasons import Reason

IN_USE_SECONDS: Final = 1.0
"""Until a claim that is deleted and still used is looked at again: pods are not followed."""


class ClaimView(msgspec.Struct, frozen=True):
    """All that is known when a claim is decided on."""

    claim: Obj
    volumes: Sequence[Obj] = ()
    classes: Sequence[Obj] = ()
    in_use: bool = False
    """Whether a pod uses it; looked at only for one that is being deleted."""


class VolumeView(msgspec.Struct, frozen=True):
    """All that is known when a volume is decided on."""

    volume: Obj
    holder: Obj | None
    """The claim of the name that the volume refers to."""
    is_ours: bool
    """Whether longshore made its directory for it."""


_LOST: Final = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_MISBOUND: Final = "Two claims are bound to the same volume, this one is bound incorrectly"
_ANOTHER: Final = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and "
    "correctly registered."
)


def claim(view: ClaimView) -> Plan:
    """The next step for a claim."""
    obj = view.claim
    if names.is_going(obj):
        return _going_claim(view)
    by_name = {volume["metadata"]["name"]: volume for volume in view.volumes}
    if chosen := obj["spec"].get("volumeName"):
        plan = _chosen(obj, by_name.get(chosen))
    else:
        plan = _unbound(obj, by_name.values(), {c["metadata"]["name"]: c for c in view.classes})
    return _protected(obj, plan, names.CLAIM_PROTECTION)


def _protected(obj: Obj, plan: Plan, finalizer: str) -> Plan:
    """Protects a claim or volume that needs no other step, so that nobody deletes it while it is used."""
    if plan.step is not None or finalizer in (obj["metadata"].get("finalizers") or ()):
        return plan
    why = Reason("Protected", f"gets the finalizer {finalizer}, which it lacks")
    return replace(plan, step=Protect(finalizer), why=(*plan.why, why))


def _going_claim(view: ClaimView) -> Plan:
    if names.CLAIM_PROTECTION not in (view.claim["metadata"].get("finalizers") or ()):
        return _left("Deleted", "it is being deleted, and nothing here holds it")
    if view.in_use:
        plan = _left("InUse", "it is being deleted, and stays as long as a pod uses it")
        return replace(plan, look_again=IN_USE_SECONDS)
    return _step(Unprotect(names.CLAIM_PROTECTION), "Unused", "it is being deleted, and no pod uses it")


def _chosen(obj: Obj, volume: Obj | None) -> Plan:
    name = obj["spec"]["volumeName"]
    if names.BIND_COMPLETED in names.marks_of(obj):
        return _bound(obj, volume)
    if volume is None:
        return _left("VolumeMissing", f"waits for volume {name}, which does not exist")
    if not matching.is_free_for(volume, obj):
        return _left("VolumeTaken", f"waits for volume {name}, which another claim has")
    if names.is_going(volume):
        return _left("VolumeGoing", f"waits for volume {name}, which is being deleted")
    if wrong := matching.why_not(volume, obj):
        return _told("VolumeMismatch", f'Cannot bind to requested volume "{name}": {wrong}', "Warning")
    return _step(Bind(volume), "VolumeNamed", f"is bound to volume {name}, which it names")


def _bound(obj: Obj, volume: Obj | None) -> Plan:
    if (obj.get("status") or {}).get("phase") == "Lost":
        return _left("Lost", "its volume was lost, which cannot be mended")
    if volume is None:
        return _lost("ClaimLost", _LOST)
    if not matching.is_free_for(volume, obj):
        return _lost("ClaimMisbound", _MISBOUND)
    name = volume["metadata"]["name"]
    if _is_settled(obj, volume):
        return _left("Bound", f"is bound to volume {name}")
    return _step(Bind(volume), "BindingUnfinished", f"finishes its binding to volume {name}")


def _is_settled(obj: Obj, volume: Obj) -> bool:
    ref, status = volume["spec"].get("claimRef") or {}, obj.get("status") or {}
    return status.get("phase") == "Bound" and ref.get("uid") == obj["metadata"]["uid"]


def _unbound(obj: Obj, volumes: Iterable[Obj], classes: dict[str, Obj]) -> Plan:
    wanted = obj["spec"].get("storageClassName")
    if wanted is None and (default := _default(classes.values())):
        return _step(SetClass(default), "DefaultClass", f"gets the default storage class, {default}")
    found = classes.get(wanted) if wanted else None
    waits = found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"
    if waits and names.SELECTED_NODE not in names.marks_of(obj):
        return _told("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    if (volume := matching.best(obj, volumes)) is not None:
        words = f"is bound to volume {volume['metadata']['name']}, the best that fits"
        return _step(Bind(volume), "VolumeFound", words)
    if not wanted:
        text = "no persistent volumes available for this claim and no storage class is set"
        return _told("FailedBinding", text)
    if found is None:
        return _told("ProvisioningFailed", f'storageclass.storage.k8s.io "{wanted}" not found', "Warning")
    return _made(obj, found)


def _made(obj: Obj, found: Obj) -> Plan:
    provisioner = found["provisioner"]
    if provisioner == names.NO_PROVISIONER:
        return _told("FailedBinding", "no persistent volumes available for this claim")
    if provisioner != own_names.LOCAL_PROVISIONER:
        return _told("ExternalProvisioning", _ANOTHER.format(provisioner))
    spec, name = obj["spec"], found["metadata"]["name"]
    failed = f'failed to provision volume with StorageClass "{name}": '
    if spec.get("volumeMode") == "Block":
        text = "longshore makes directories, no block devices"
        return _told("ProvisioningFailed", failed + text, "Warning")
    if spec.get("selector") is not None:
        text = "claim.Spec.Selector is not supported for dynamic provisioning"
        return _told("ProvisioningFailed", failed + text, "Warning")
    if spec.get("dataSource") is not None or spec.get("dataSourceRef") is not None:
        return _told("ProvisioningFailed", failed + "longshore copies no data into new volumes", "Warning")
    size = spec["resources"]["requests"]["storage"]
    words = f"gets a new volume of storage class {name}, as none that is there fits"
    return Plan(Provision(found), (Reason("VolumeProvisioned", words, {"storage": size}),))


def _default(classes: Iterable[Obj]) -> str:
    """The newest of the default classes, then the first by name, as at the claim's creation."""
    marked = [c for c in classes if names.marks_of(c).get(names.DEFAULT_CLASS) == "true"]
    marked.sort(key=lambda c: str(c["metadata"]["name"]))
    newest = max(marked, key=lambda c: str(c["metadata"]["creationTimestamp"]), default=None)
    name: str = newest["metadata"]["name"] if newest else ""
    return name


def volume(view: VolumeView) -> Plan:
    """The next step for a volume."""
    obj, holder = view.volume, view.holder
    phase = (obj.get("status") or {}).get("phase")
    ref = obj["spec"].get("claimRef")
    if ref is None or (holder is not None and ref.get("uid") and holder["metadata"]["uid"] != ref["uid"]):
        holder = None
    if names.is_going(obj):
        return _going_volume(obj, phase, holder, view.is_ours)
    if ref is None or not ref.get("uid"):
        plan = _phase(phase, "Available", "no claim has it")
    elif holder is None:
        plan = _released(obj, phase, view.is_ours)
    elif holder["spec"].get("volumeName") == obj["metadata"]["name"]:
        plan = _phase(phase, "Bound", f"claim {_title(ref)} has it")
    else:
        plan = _left("ClaimChosen", f"waits until claim {_title(ref)} names it")
    return _protected(obj, plan, names.VOLUME_PROTECTION)


def _going_volume(obj: Obj, phase: str | None, holder: Obj | None, is_ours: bool) -> Plan:
    """A volume that somebody deletes stays while a claim has it, and takes its data along if it is to. Its
    protection goes after the data, so that data that could not be removed is tried again."""
    if phase == "Bound" and holder is not None:
        return _left("InUse", "it is being deleted, and stays as long as its claim has it")
    if names.VOLUME_PROTECTION not in (obj["metadata"].get("finalizers") or ()):
        return _left("Deleted", "it is being deleted, and nothing here holds it")
    had_claim = holder is None and (obj["spec"].get("claimRef") or {}).get("uid")
    if had_claim and is_ours and obj["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
        return _step(Reclaim(), "DataDeleted", "it is being deleted, and its data with it")
    return _step(Unprotect(names.VOLUME_PROTECTION), "Unused", "it is being deleted, and no claim has it")


def _released(obj: Obj, phase: str | None, is_ours: bool) -> Plan:
    policy = obj["spec"].get("persistentVolumeReclaimPolicy")
    if policy == "Delete" and is_ours:
        return _step(Reclaim(), "DataDeleted", "its claim is gone, and its reclaim policy is Delete")
    if policy == "Retain":
        return _phase(phase, "Released", "its claim is gone, and its reclaim policy is Retain")
    if phase == "Failed":
        return _left("Failed", "nobody here can reclaim it")
    if policy == "Delete":
        return _failed("VolumeFailedDelete", "longshore deletes only the directories that it made itself")
    return _failed("VolumeFailedRecycle", "longshore recycles no volumes; delete it and make a new one")


# ---- plans of each form


def _left(code: str, words: str) -> Plan:
    return Plan(None, (Reason(code, words),))


def _step(step: Bind | SetClass | Unprotect | Reclaim, code: str, words: str) -> Plan:
    return Plan(step, (Reason(code, words),))


def _told(code: str, message: str, type_: str = "Normal") -> Plan:
    return Plan(None, (Reason(code, message),), Event(type_, code, message))


def _lost(code: str, message: str) -> Plan:
    return Plan(Lose(), (Reason(code, message),), Event("Warning", code, message))


def _phase(phase: str | None, right: str, words: str) -> Plan:
    why = (Reason(right, words),)
    return Plan(None, why) if phase == right else Plan(SetPhase(right), why)


def _failed(code: str, message: str) -> Plan:
    return Plan(SetPhase("Failed", message), (Reason(code, message),), Event("Warning", code, message))


def _title(ref: Obj) -> str:
    return f"{ref.get('namespace') or ''}/{ref.get('name') or ''}"
