"""Carries out plans for claims and volumes.

Every update names the resourceVersion it is based on, so a volume is never bound to two claims. The cache
shows each write before the next decision is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names
from longshore.api.types import Obj, copy_of
from longshore.client import Client, DeleteOptions
from longshore.controllers.volume import names
from longshore.controllers.volume import plan as plans
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.informers.cache import Cache


class Directories(Protocol):
    """One directory per volume, named after it."""

    def path(self, name: str) -> str:
        """Returns the path of this volume's directory, even if it does not exist."""

    def make(self, name: str) -> str:
        """Makes the directory, unless it exists, and returns its path. Any user of a pod may write to it."""

    async def remove(self, name: str) -> None:
        """Removes the directory and all in it."""


def has_made(directories: Directories, volume: Obj) -> bool:
    """Whether longshore provisioned the volume's directory; any other holds a person's data."""
    if names.marks_of(volume).get(names.PROVISIONED_BY) != own_names.LOCAL_PROVISIONER:
        return False
    own = directories.path(volume["metadata"]["name"])
    return bool((volume["spec"].get("hostPath") or {}).get("path") == own)


class Acts:
    """Carries out plans. `caches` holds the caches of claims and volumes."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        directories: Directories,
        caches: Mapping[tuple[str, str], Cache],
    ) -> None:
        self._client, self._recorder, self._directories, self._caches = client, recorder, directories, caches

    async def claim(self, obj: Obj, plan: plans.VolumePlan) -> None:
        """Carries out the step, then sends the event."""
        match plan.step:
            case plans.Protect() | plans.Unprotect():
                await self._protect(kinds.CLAIMS, obj, plan.step)
            case plans.SetClass(name):
                await self._write(kinds.CLAIMS, {**obj, "spec": {**obj["spec"], "storageClassName": name}})
            case plans.Bind(volume):
                await self._bind(obj, volume)
            case plans.Provision(storage_class):
                await self._provision(obj, storage_class)
            case plans.Lose():
                await self._status(kinds.CLAIMS, obj, {"phase": "Lost"})
        if plan.event is not None:
            self._event(kinds.CLAIMS, obj, *plan.event)

    async def volume(self, obj: Obj, plan: plans.VolumePlan) -> None:
        """Carries out the step, then sends the event."""
        match plan.step:
            case plans.Protect() | plans.Unprotect():
                await self._protect(kinds.VOLUMES, obj, plan.step)
            case plans.SetPhase(phase, message):
                status = {**(obj.get("status") or {}), "phase": phase}
                await self._status(kinds.VOLUMES, obj, {**status, "message": message} if message else status)
            case plans.Reclaim():
                await self._reclaim(obj)
        if plan.event is not None:
            self._event(kinds.VOLUMES, obj, *plan.event)

    async def _bind(self, claim: Obj, volume: Obj) -> None:
        """Writes the volume first: once it refers to the claim, no other claim can take it."""
        meta = claim["metadata"]
        ref = volume["spec"].get("claimRef") or {}
        if ref.get("uid") != meta["uid"]:
            changed = copy_of(volume)
            changed["spec"]["claimRef"] = reference(claim, kinds.CLAIMS)
            if not ref:
                _annotate(changed, names.BOUND_BY_CONTROLLER)
            volume = await self._write(kinds.VOLUMES, changed)
        if (volume.get("status") or {}).get("phase") != "Bound":
            volume = await self._status(
                kinds.VOLUMES, volume, {**(volume.get("status") or {}), "phase": "Bound"}
            )
        if names.BIND_COMPLETED not in names.marks_of(claim):
            changed = copy_of(claim)
            if not claim["spec"].get("volumeName"):
                changed["spec"]["volumeName"] = volume["metadata"]["name"]
                _annotate(changed, names.BOUND_BY_CONTROLLER)
            _annotate(changed, names.BIND_COMPLETED)
            _add_finalizer(changed, names.CLAIM_PROTECTION)
            claim = await self._write(kinds.CLAIMS, changed)
        spec = volume["spec"]
        status = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"]}
        await self._status(kinds.CLAIMS, claim, status)

    async def _provision(self, claim: Obj, storage_class: Obj) -> None:
        name, wanted = names.volume_name(claim), claim["spec"]
        path = self._directories.make(name)
        spec: Obj = {
            "accessModes": wanted["accessModes"],
            "capacity": {"storage": wanted["resources"]["requests"]["storage"]},
            "claimRef": reference(claim, kinds.CLAIMS),
            "hostPath": {"path": path, "type": "DirectoryOrCreate"},
            "persistentVolumeReclaimPolicy": storage_class["reclaimPolicy"],
            "storageClassName": storage_class["metadata"]["name"],
            "volumeMode": "Filesystem",
        }
        meta = {
            "name": name,
            "annotations": {names.PROVISIONED_BY: own_names.LOCAL_PROVISIONER},
            "finalizers": [names.VOLUME_PROTECTION],
        }
        try:
            made = await self._client.create(kinds.VOLUMES, {"metadata": meta, "spec": spec})
        except StatusError as err:
            if err.reason != "AlreadyExists":
                raise
            made = await self._client.get(kinds.VOLUMES, name)
        else:
            claim_ref = reference(claim, kinds.CLAIMS)
            self._recorder.announce(claim_ref, "ProvisioningSucceeded", volume=name)
        await self._seen(kinds.VOLUMES, made)
        await self._bind(claim, made)

    async def _reclaim(self, volume: Obj) -> None:
        """Deletes the data, then the volume that names it. Asks the server whether the claim is gone."""
        meta, ref = volume["metadata"], volume["spec"]["claimRef"]
        if await self._lives(ref):
            raise RuntimeError(f"volume {meta['name']} is not deleted: its claim is still there")
        if (volume.get("status") or {}).get("phase") != "Released":
            volume = await self._status(kinds.VOLUMES, volume, {"phase": "Released"})
        try:
            await self._directories.remove(meta["name"])
        except Exception as err:  # sent as an event, whatever it is, and raised again
            self._recorder.announce(reference(volume, kinds.VOLUMES), "VolumeFailedDelete", problem=err)
            raise
        if names.VOLUME_PROTECTION in (meta.get("finalizers") or ()):
            await self._protect(kinds.VOLUMES, volume, plans.Unprotect(names.VOLUME_PROTECTION))
        if not names.is_going(volume):
            await self._client.delete(kinds.VOLUMES, meta["name"], options=DeleteOptions(uid=meta["uid"]))

    async def _lives(self, ref: Obj) -> bool:
        try:
            claim = await self._client.get(kinds.CLAIMS, ref["name"], ref["namespace"])
        except StatusError as err:
            if err.code == 404:
                return False
            raise
        return bool(claim["metadata"]["uid"] == ref["uid"])

    async def _protect(self, what: tuple[str, str], obj: Obj, step: plans.Protect | plans.Unprotect) -> None:
        """Adds or removes a finalizer. After a removal the object may be gone, so it is not awaited."""
        if isinstance(step, plans.Protect):
            changed = copy_of(obj)
            _add_finalizer(changed, step.finalizer)
            await self._write(what, changed)
        else:
            kept = [name for name in obj["metadata"]["finalizers"] if name != step.finalizer]
            changed = {**obj, "metadata": {**obj["metadata"], "finalizers": kept}}
            await self._client.update(what, changed, obj["metadata"].get("namespace", ""))

    async def _write(self, what: tuple[str, str], obj: Obj) -> Obj:
        written = await self._client.update(what, obj, obj["metadata"].get("namespace", ""))
        await self._seen(what, written)
        return written

    async def _status(self, what: tuple[str, str], obj: Obj, status: Obj) -> Obj:
        if obj.get("status") == status:
            return obj
        changed = {**obj, "status": status}
        written = await self._client.update_status(what, changed, obj["metadata"].get("namespace", ""))
        await self._seen(what, written)
        return written

    async def _seen(self, what: tuple[str, str], written: Obj) -> None:
        await self._caches[what].reached(int(written["metadata"]["resourceVersion"]))

    def _event(self, what: tuple[str, str], obj: Obj, type_: str, reason: str, message: str) -> None:
        self._recorder.event(reference(obj, what), type_, reason, message)


def _annotate(obj: Obj, name: str) -> None:
    marks = obj["metadata"].setdefault("annotations", {})
    marks[name] = "yes"


def _add_finalizer(obj: Obj, name: str) -> None:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if name not in finalizers:
        finalizers.append(name)
