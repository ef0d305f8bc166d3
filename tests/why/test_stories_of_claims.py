"""Stories of claims and volumes: which volume and why, what is waited for, what holds one that goes."""

from __future__ import annotations

from typing import Any

from longshore.api.types import Obj
from longshore.testing import Run
from why.why_stage import PODS, Stage, a_pod, play

CLAIMS, VOLUMES = ("v1", "PersistentVolumeClaim"), ("v1", "PersistentVolume")
CLASSES = ("storage.k8s.io/v1", "StorageClass")


def a_claim(**spec: Any) -> Obj:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"metadata": {"name": "c"}, "spec": wanted}


def a_volume(name: str, storage: str, policy: str = "Retain") -> Obj:
    spec = {
        "capacity": {"storage": storage},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": policy,
        "hostPath": {"path": "/data"},
        "storageClassName": "",
    }
    return {"metadata": {"name": name}, "spec": spec}


async def with_a_class(
    stage: Stage, name: str, provisioner: str = "longshore.dev/local", **more: Any
) -> None:
    await stage.client.create(CLASSES, {"metadata": {"name": name}, "provisioner": provisioner, **more})


def test_a_claim_that_gets_a_new_volume() -> None:
    async def script(stage: Stage) -> None:
        await with_a_class(stage, "fast", volumeBindingMode="Immediate")
        await stage.create(CLAIMS, a_claim(storageClassName="fast"))
        await stage.sleep(5)
        await stage.tells(
            "pvc/c",
            """
            09:00:00  got a new volume of storage class fast, as none that is there fits
            now       the claim is Bound, to volume pvc-UID
            next      nothing: pods can use it
            """,
        )
        claim = await stage.client.get(CLAIMS, "c", "default")
        await stage.tells(
            f"pv/{claim['spec']['volumeName']}",
            """
            now       the volume is Bound, to claim default/c
            next      when its claim goes, its reclaim policy decides: Delete
                      about its claim: longshore why pvc/c -n default
            """,
        )

    play(script)


def test_the_smallest_volume_that_is_large_enough() -> None:
    async def script(stage: Stage) -> None:
        for name, storage in (("large", "10Gi"), ("right", "2Gi"), ("small", "500Mi")):
            await stage.client.create(VOLUMES, a_volume(name, storage))
        await stage.create(CLAIMS, a_claim(storageClassName=""))
        await stage.sleep(5)
        await stage.tells(
            "pvc/c",
            """
            09:00:00  bound to volume right, the best that fits
            now       the claim is Bound, to volume right
            next      nothing: pods can use it
            """,
        )

    play(script)


def test_a_claim_for_which_there_is_no_volume() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CLAIMS, a_claim(storageClassName=""))
        await stage.sleep(5)
        await stage.tells(
            "pvc/c",
            """
            09:00:00  no persistent volumes available for this claim and no storage class is set
            now       the claim is Pending
            next      it is bound when a volume fits it: 1Gi or more, ReadWriteOnce, storage class none. See: longshore get pv,storageclass
            """,
        )

    play(script)


def test_a_claim_whose_storage_class_does_not_exist() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CLAIMS, a_claim(storageClassName="gold"))
        await stage.sleep(5)
        await stage.tells(
            "pvc/c",
            """
            09:00:00  storageclass.storage.k8s.io "gold" not found
            now       the claim is Pending
            next      it is bound when storage class gold exists, or a volume of this class fits it
                      the storage classes that exist: longshore get storageclass
            """,
        )

    play(script)


def test_a_claim_that_waits_for_its_first_pod() -> None:
    async def script(stage: Stage) -> None:
        await with_a_class(stage, "late", volumeBindingMode="WaitForFirstConsumer")
        await stage.create(CLAIMS, a_claim(storageClassName="late"))
        await stage.sleep(5)
        await stage.tells(
            "pvc/c",
            """
            09:00:00  waiting for first consumer to be created before binding
            now       the claim is Pending
            next      it is bound when a pod that uses it has a node; no pod uses it yet
            """,
        )

    play(script)


def test_a_claim_that_is_deleted_while_a_pod_uses_it() -> None:
    async def script(stage: Stage) -> None:
        await with_a_class(stage, "fast", volumeBindingMode="Immediate")
        await stage.create(CLAIMS, a_claim(storageClassName="fast"))
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
        await stage.create(PODS, a_pod(volumes=volumes))
        await stage.sleep(5)
        await stage.alice.delete(CLAIMS, "c", "default")
        await stage.sleep(5)
        await stage.tells(
            "pvc/c",
            """
            09:00:00  got a new volume of storage class fast, as none that is there fits
            09:00:05  alice deleted the PersistentVolumeClaim with kubectl
            09:00:05  it is being deleted, and stays as long as a pod uses it
            now       it is being deleted, held by kubernetes.io/pvc-protection
            next      it goes when no pod uses it any more: p
            """,
        )
        await stage.sleep(120)
        await stage.tells(
            "pvc/c",
            """
            09:00:00  got a new volume of storage class fast, as none that is there fits
            09:00:05  alice deleted the PersistentVolumeClaim with kubectl
            09:00:05  it is being deleted, and stays as long as a pod uses it
            09:01:01  it is being deleted, and no pod uses it
            next      nothing: the PersistentVolumeClaim is gone
            """,
        )

    play(script, lambda container: Run(seconds=60.0))


def test_a_volume_whose_claim_is_gone() -> None:
    async def script(stage: Stage) -> None:
        await stage.client.create(VOLUMES, a_volume("v", "2Gi"))
        await stage.create(CLAIMS, a_claim(storageClassName=""))
        await stage.sleep(5)
        await stage.client.delete(CLAIMS, "c", "default")
        await stage.sleep(60)
        await stage.tells(
            "pv/v",
            """
            09:00:05  its claim is gone, and its reclaim policy is Retain
            now       the volume is Released; claim default/c had it
            next      nothing: its reclaim policy is Retain. Delete it with: longshore delete pv/v
            """,
        )

    play(script)


def test_a_claim_that_waits_for_a_pod_names_it() -> None:
    async def script(stage: Stage) -> None:
        await with_a_class(stage, "late", volumeBindingMode="WaitForFirstConsumer")
        await stage.create(CLAIMS, a_claim(storageClassName="late"))
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
        await stage.create(PODS, a_pod(volumes=volumes, nodeSelector={"gpu": "yes"}))
        await stage.sleep(5)
        assert (await stage.why("pvc/c")).endswith(
            "next      it is bound when pod p has a node. About the pod: longshore why pod/p"
        )

    play(script)


def test_a_claim_that_another_provisioner_serves() -> None:
    async def script(stage: Stage) -> None:
        await with_a_class(stage, "far", "example.org/disk", volumeBindingMode="Immediate")
        await stage.create(CLAIMS, a_claim(storageClassName="far"))
        await stage.sleep(5)
        assert (await stage.why("pvc/c")).endswith(
            "next      it is bound when example.org/disk has made a volume for it, which longshore does not do"
        )

    play(script)


def test_volumes_without_a_claim() -> None:
    async def script(stage: Stage) -> None:
        await stage.client.create(VOLUMES, a_volume("free", "1Gi"))
        await stage.client.create(VOLUMES, a_volume("old", "9Gi", "Recycle"))
        await stage.sleep(1)
        assert (await stage.why("pv/free", "")).endswith("next      it waits for a claim that it fits")
        await stage.create(CLAIMS, a_claim(storageClassName="", volumeName="old"))
        await stage.sleep(2)
        await stage.alice.delete(CLAIMS, "c", "default")
        await stage.sleep(5)
        assert (await stage.why("pv/old", "")).endswith(
            "next      nothing: it could not be reclaimed. Delete it with: longshore delete pv/old"
        )

    play(script)
