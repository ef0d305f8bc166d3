"""What to do about one claim, or one volume. Pure functions of what is there.

The words of events are Kubernetes'. Data is deleted only in directories that longshore made for a claim, and
only once that claim is gone and its volume's policy says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from longshore.api.types import Obj
from longshore.controllers.volume import matching, names


@dataclass(frozen=True, slots=True)
class Nothing:
    """Wait for a change. With a reason, tell it as an event."""

    reason: str = ""
    message: str = ""
    type: Literal["Normal", "Warning"] = "Normal"


@dataclass(frozen=True, slots=True)
class SetClass:
    """The claim asked for no class when there was no default one; now there is."""

    name: str


@dataclass(frozen=True, slots=True)
class Bind:
    """Tie volume and claim to each other, or finish doing so."""

    volume: Obj


@dataclass(frozen=True, slots=True)
class Provision:
    """Make a directory and a volume for it."""

    storage_class: Obj


@dataclass(frozen=True, slots=True)
class Lose:
    """The claim's volume is gone, or another's."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Unprotect:
    """It is being deleted, and may go."""


@dataclass(frozen=True, slots=True)
class SetPhase:
    """Of a volume."""

    phase: str
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Delete the volume and the data in it."""


OfClaim: TypeAlias = Nothing | SetClass | Bind | Provision | Lose | Unprotect
OfVolume: TypeAlias = Nothing | SetPhase | Reclaim | Unprotect

_LOST = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly"
_ANOTHER = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and "
    "correctly registered."
)


def claim(obj: Obj, volumes: Iterable[Obj], classes: Iterable[Obj], in_use: bool) -> OfClaim:
    """The next step for a claim. `in_use` counts only for one that is being deleted."""
    if names.is_going(obj):
        protected = names.CLAIM_PROTECTION in (obj["metadata"].get("finalizers") or ())
        return Unprotect() if protected and not in_use else Nothing()
    by_name = {volume["metadata"]["name"]: volume for volume in volumes}
    if chosen := obj["spec"].get("volumeName"):
        return _chosen(obj, by_name.get(chosen))
    return _unbound(obj, by_name.values(), {c["metadata"]["name"]: c for c in classes})


def _chosen(obj: Obj, volume: Obj | None) -> OfClaim:
    bound = names.BIND_COMPLETED in names.marks_of(obj)
    if bound:
        if (obj.get("status") or {}).get("phase") == "Lost":
            return Nothing()
        if volume is None:
            return Lose("ClaimLost", _LOST)
        if not matching.is_free_for(volume, obj):
            return Lose("ClaimMisbound", _MISBOUND)
        return Nothing() if _is_settled(obj, volume) else Bind(volume)
    if volume is None or not matching.is_free_for(volume, obj) or names.is_going(volume):
        return Nothing()
    if wrong := matching.why_not(volume, obj):
        name = volume["metadata"]["name"]
        return Nothing("VolumeMismatch", f'Cannot bind to requested volume "{name}": {wrong}', "Warning")
    return Bind(volume)


def _is_settled(obj: Obj, volume: Obj) -> bool:
    ref, status = volume["spec"].get("claimRef") or {}, obj.get("status") or {}
    return status.get("phase") == "Bound" and ref.get("uid") == obj["metadata"]["uid"]


def _unbound(obj: Obj, volumes: Iterable[Obj], classes: dict[str, Obj]) -> OfClaim:
    wanted = obj["spec"].get("storageClassName")
    if wanted is None and (default := _default(classes.values())):
        return SetClass(default)
    found = classes.get(wanted) if wanted else None
    waits = found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"
    if waits and names.SELECTED_NODE not in names.marks_of(obj):
        text = "waiting for first consumer to be created before binding"
        return Nothing("WaitForFirstConsumer", text)
    if (volume := matching.best(obj, volumes)) is not None:
        return Bind(volume)
    if not wanted:
        text = "no persistent volumes available for this claim and no storage class is set"
        return Nothing("FailedBinding", text)
    if found is None:
        text = f'storageclass.storage.k8s.io "{wanted}" not found'
        return Nothing("ProvisioningFailed", text, "Warning")
    return _made(obj, found)


def _made(obj: Obj, found: Obj) -> OfClaim:
    provisioner = found["provisioner"]
    if provisioner == names.NO_PROVISIONER:
        return Nothing("FailedBinding", "no persistent volumes available for this claim")
    if provisioner != names.PROVISIONER:
        return Nothing("ExternalProvisioning", _ANOTHER.format(provisioner))
    spec, name = obj["spec"], found["metadata"]["name"]
    failed = f'failed to provision volume with StorageClass "{name}": '
    if spec.get("volumeMode") == "Block":
        return Nothing(
            "ProvisioningFailed", failed + "longshore makes directories, no block devices", "Warning"
        )
    if spec.get("selector") is not None:
        text = "claim.Spec.Selector is not supported for dynamic provisioning"
        return Nothing("ProvisioningFailed", failed + text, "Warning")
    if spec.get("dataSource") is not None or spec.get("dataSourceRef") is not None:
        return Nothing("ProvisioningFailed", failed + "longshore copies no data into new volumes", "Warning")
    return Provision(found)


def _default(classes: Iterable[Obj]) -> str:
    """The newest of the default classes, then the first by name, as at the claim's creation."""
    marked = [c for c in classes if names.marks_of(c).get(names.DEFAULT_CLASS) == "true"]
    marked.sort(key=lambda c: str(c["metadata"]["name"]))
    newest = max(marked, key=lambda c: str(c["metadata"]["creationTimestamp"]), default=None)
    name: str = newest["metadata"]["name"] if newest else ""
    return name


def volume(obj: Obj, claim_of: Callable[[str, str], Obj | None], is_ours: bool) -> OfVolume:
    """The next step for a volume. `is_ours`: its directory was made for it by longshore."""
    phase = (obj.get("status") or {}).get("phase")
    ref = obj["spec"].get("claimRef")
    holder = None
    if ref is not None:
        holder = claim_of(ref.get("namespace") or "", ref.get("name") or "")
        if holder is not None and ref.get("uid") and holder["metadata"]["uid"] != ref["uid"]:
            holder = None
    if names.is_going(obj):
        return _going(obj, phase, holder, is_ours)
    if ref is None or not ref.get("uid"):
        return Nothing() if phase == "Available" else SetPhase("Available")
    if holder is not None:
        taken = holder["spec"].get("volumeName") == obj["metadata"]["name"]
        return SetPhase("Bound") if taken and phase != "Bound" else Nothing()
    return _released(obj, phase, is_ours)


def _going(obj: Obj, phase: str | None, holder: Obj | None, is_ours: bool) -> OfVolume:
    """A volume that somebody deletes stays while a claim has it, and takes its data along if it is to."""
    if phase == "Bound":
        if holder is not None:
            return Nothing()
        if is_ours and obj["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            return Reclaim()
    protected = names.VOLUME_PROTECTION in (obj["metadata"].get("finalizers") or ())
    return Unprotect() if protected else Nothing()


def _released(obj: Obj, phase: str | None, is_ours: bool) -> OfVolume:
    policy = obj["spec"].get("persistentVolumeReclaimPolicy")
    if policy == "Delete" and is_ours:
        return Reclaim()
    if policy == "Retain":
        return Nothing() if phase == "Released" else SetPhase("Released")
    if phase == "Failed":
        return Nothing()
    if policy == "Delete":
        return SetPhase(
            "Failed", "VolumeFailedDelete", "longshore deletes only the directories that it made itself"
        )
    return SetPhase(
        "Failed", "VolumeFailedRecycle", "longshore recycles no volumes; delete it and make a new one"
    )
