"""What the volume controller decides: a view in, a plan out."""

from __future__ import annotations

from typing import Any

import msgspec

from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.controllers.volume import decide, names
from longshore.controllers.volume.decide import ClaimView, VolumeView
from longshore.controllers.volume.plan import (
    Bind,
    Protect,
    Provision,
    Reclaim,
    SetPhase,
    Unprotect,
    VolumePlan,
)

NOW = "2026-05-04T12:00:00Z"
CLASS: Obj = {
    "metadata": {"name": "local"},
    "provisioner": own_names.LOCAL_PROVISIONER,
    "reclaimPolicy": "Delete",
}


def claim(*, going: bool = False, protected: bool = True, marks: tuple[str, ...] = (), **spec: Any) -> Obj:
    meta: Obj = {"name": "c", "namespace": "ns", "uid": "c-uid", "annotations": dict.fromkeys(marks, "yes")}
    if going:
        meta["deletionTimestamp"] = NOW
    if protected:
        meta["finalizers"] = [names.CLAIM_PROTECTION]
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"metadata": meta, "spec": wanted, "status": {"phase": "Pending"}}


def volume(*, protected: bool = True, phase: str = "Available", ref: Obj | None = None, **spec: Any) -> Obj:
    meta: Obj = {"name": "v", "uid": "v-uid", "creationTimestamp": NOW}
    if protected:
        meta["finalizers"] = [names.VOLUME_PROTECTION]
    given = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, **spec}
    return {
        "metadata": meta,
        "spec": given if ref is None else {**given, "claimRef": ref},
        "status": {"phase": phase},
    }


def codes(plan: VolumePlan) -> list[str]:
    return [reason.code for reason in plan.why]


def test_a_claim_that_has_to_wait_is_not_written() -> None:
    plan = decide.claim(ClaimView(claim(volumeName="v")))
    assert plan.step is None
    assert [*map(str, plan.why)] == ["waits for volume v, which does not exist"]


def test_a_claim_that_lacks_its_protection_gets_it_by_a_step_of_its_own() -> None:
    plan = decide.claim(ClaimView(claim(protected=False, volumeName="v")))
    assert plan.step == Protect(names.CLAIM_PROTECTION)
    assert codes(plan) == ["VolumeMissing", "Protected"]


def test_a_claim_that_waits_tells_why_and_is_protected_at_the_same_time() -> None:
    plan = decide.claim(ClaimView(claim(protected=False, storageClassName="none")))
    assert plan.step == Protect(names.CLAIM_PROTECTION)
    assert plan.event is not None
    assert plan.event.reason == "ProvisioningFailed"


def test_a_deleted_claim_is_looked_at_every_second_while_a_pod_uses_it() -> None:
    used = decide.claim(ClaimView(claim(going=True), in_use=True))
    assert (used.step, used.look_again, codes(used)) == (None, 1.0, ["InUse"])
    free = decide.claim(ClaimView(claim(going=True)))
    assert (free.step, free.look_again) == (Unprotect(names.CLAIM_PROTECTION), None)


def test_a_new_volume_is_explained_with_its_size() -> None:
    plan = decide.claim(ClaimView(claim(storageClassName="local"), (), [CLASS]))
    assert plan.step == Provision(CLASS)
    numbers = {"className": "local", "storage": "1Gi"}
    assert [(why.code, why.numbers) for why in plan.why] == [("VolumeProvisioned", numbers)]


def test_a_volume_that_nobody_has_becomes_available_and_is_left_alone_then() -> None:
    assert decide.volume(VolumeView(volume(phase="Pending"), None, False)).step == SetPhase("Available")
    assert decide.volume(VolumeView(volume(), None, False)).step is None
    assert decide.volume(VolumeView(volume(protected=False), None, False)).step == Protect(
        names.VOLUME_PROTECTION
    )


def test_a_saved_view_of_a_claim_gives_the_same_plan() -> None:
    seen = ClaimView(claim(storageClassName=""), [volume(storageClassName="")], [CLASS])
    loaded = msgspec.json.decode(msgspec.json.encode(seen), type=ClaimView)
    assert loaded == seen
    assert decide.claim(loaded) == decide.claim(seen)
    assert isinstance(decide.claim(seen).step, Bind)


def test_a_saved_view_of_a_volume_gives_the_same_plan() -> None:
    ref = {"namespace": "ns", "name": "c", "uid": "gone"}
    orphan = volume(phase="Bound", ref=ref, persistentVolumeReclaimPolicy="Delete")
    seen = VolumeView(orphan, claim(), is_ours=True)
    loaded = msgspec.json.decode(msgspec.json.encode(seen), type=VolumeView)
    assert loaded == seen
    assert decide.volume(loaded) == decide.volume(seen)
    assert decide.volume(seen).step == Reclaim()
