"""The volume controller over an API in memory, in virtual time, with real directories."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.controllers import volume
from longshore.controllers.volume.act import Directories
from longshore.machinery.file_trees import Mounted
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.world import MemoryDirectories
from longshore.up.node import LocalDirectories
from support import world

CLAIM, VOLUME, CLASS = (
    ("v1", "PersistentVolumeClaim"),
    ("v1", "PersistentVolume"),
    ("storage.k8s.io/v1", "StorageClass"),
)
Scenario = Callable[["World"], Awaitable[None]]


class World(world.World):
    namespace = "default"

    def __init__(self, api: Api, clock: VirtualClock, root: Path) -> None:
        super().__init__(api, clock)
        self.root = root

    async def claim(self, name: str = "c", size: str = "1Gi", **spec: Any) -> Obj:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
        return await self.client.create(CLAIM, {"metadata": {"name": name}, "spec": spec}, "default")

    async def volume(self, name: str, size: str, path: str, **spec: Any) -> Obj:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "hostPath": {"path": path},
            "storageClassName": "by-hand",
            **spec,
        }
        return await self.client.create(VOLUME, {"metadata": {"name": name}, "spec": spec})

    async def get(self, what: tuple[str, str], name: str) -> Obj:
        return await self.client.get(what, name, "default" if what == CLAIM else "")

    async def is_gone(self, what: tuple[str, str], name: str) -> bool:
        return await self.find(what, name, "default" if what == CLAIM else "") is None

    async def pod(self, claim: str) -> None:
        spec = {
            "nodeName": "n",
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
        }
        await self.client.create(("v1", "Pod"), {"metadata": {"name": "p"}, "spec": spec}, "default")

    async def events(self) -> set[tuple[Any, ...]]:
        return {*await self.told("reason", "message")}


class BusyDirectories(MemoryDirectories):
    """Something is mounted in each, until `is_busy` is over."""

    is_busy = True

    async def remove(self, name: str) -> None:
        if self.is_busy:
            raise Mounted(f"something is mounted there; {name} is not removed")
        await super().remove(name)


def play(
    tmp_path: Path,
    scenario: Scenario,
    *,
    before: Scenario | None = None,
    directories: Directories | None = None,
) -> None:
    async def main(world: World) -> None:
        if before is not None:
            await before(world)
        context = world.context(explanations=world.explanations)
        world.begin(volume.run(context, volumes=directories or LocalDirectories(world.root)))
        await world.clock.sleep(1)
        await scenario(world)

    world.play(partial(World, root=tmp_path / "volumes"), main, seed=7)


def test_a_claim_gets_a_directory_of_its_own_from_the_default_class(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        made = await world.claim()
        await world.clock.sleep(1)
        claim = await world.get(CLAIM, "c")
        name = f"pvc-{made['metadata']['uid']}"
        assert claim["spec"]["storageClassName"] == "longshore-local"
        assert claim["spec"]["volumeName"] == name
        assert claim["status"] == {
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
        }
        assert "kubernetes.io/pvc-protection" in claim["metadata"]["finalizers"]
        bound = await world.get(VOLUME, name)
        assert bound["status"]["phase"] == "Bound"
        assert bound["spec"]["claimRef"]["uid"] == made["metadata"]["uid"]
        assert Path(bound["spec"]["hostPath"]["path"]) == world.root / name
        assert (world.root / name).stat().st_mode & 0o777 == 0o777
        assert world.root.stat().st_mode & 0o777 == 0o700
        assert ("ProvisioningSucceeded", f"Successfully provisioned volume {name}") in await world.events()

    play(tmp_path, scenario)


def test_every_step_of_claims_and_volumes_is_explained(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        made = await world.claim()
        await world.clock.sleep(1)
        last = world.explanations.of("default", "c")[-1]
        name = f"pvc-{made['metadata']['uid']}"
        assert (last.uid, [*map(str, last.why)]) == (made["metadata"]["uid"], [f"is bound to volume {name}"])
        told = world.explanations.of("", name)
        assert [*map(str, told[-1].why)] == ["claim default/c has it"]

    play(tmp_path, scenario)


def test_a_deleted_claim_takes_its_directory_along_and_nothing_else(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        first = await world.claim("first")
        second = await world.claim("second")
        await world.clock.sleep(1)
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "kept").write_text("x")
        directory = world.root / f"pvc-{first['metadata']['uid']}"
        (directory / "link").symlink_to(outside)
        await world.client.delete(CLAIM, "first", "default")
        await world.clock.sleep(3)
        assert await world.is_gone(CLAIM, "first")
        while directory.exists():  # a thread removes it, in real time
            time.sleep(0.01)  # noqa: ASYNC251 - virtual time must not go on meanwhile
        time.sleep(0.05)  # noqa: ASYNC251
        await world.clock.sleep(3)
        assert await world.is_gone(VOLUME, directory.name)
        assert not directory.exists()
        assert (outside / "kept").exists()
        assert (world.root / f"pvc-{second['metadata']['uid']}").is_dir()

    play(tmp_path, scenario)


@pytest.mark.parametrize("first_gone", ["the claim", "the volume"])
def test_data_that_cannot_be_removed_yet_keeps_its_volume(tmp_path: Path, first_gone: str) -> None:
    directories = BusyDirectories()

    async def scenario(world: World) -> None:
        claim = await world.claim()
        await world.clock.sleep(1)
        name = f"pvc-{claim['metadata']['uid']}"
        if first_gone == "the volume":
            await world.client.delete(VOLUME, name)
            await world.clock.sleep(1)
        await world.client.delete(CLAIM, "c", "default")
        await world.clock.sleep(5)
        assert await world.is_gone(CLAIM, "c")
        if first_gone == "the claim":
            await world.client.delete(VOLUME, name)
        await world.clock.sleep(30)
        assert "deletionTimestamp" in (await world.get(VOLUME, name))["metadata"]
        directories.is_busy = False
        await world.clock.sleep(60)
        assert await world.is_gone(VOLUME, name)
        assert directories.made == set()

    play(tmp_path, scenario, directories=directories)


def test_a_deleted_volume_that_is_taken_from_its_claim_goes_without_the_data(tmp_path: Path) -> None:
    directories = MemoryDirectories()

    async def scenario(world: World) -> None:
        claim = await world.claim()
        await world.clock.sleep(1)
        name = f"pvc-{claim['metadata']['uid']}"
        await world.client.delete(VOLUME, name)
        await world.client.patch(VOLUME, name, {"spec": {"claimRef": None}})
        await world.clock.sleep(5)
        assert await world.is_gone(VOLUME, name)
        assert directories.made == {name}

    play(tmp_path, scenario, directories=directories)


def test_a_claim_stays_while_a_pod_uses_it(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.claim()
        await world.pod("c")
        await world.clock.sleep(1)
        await world.client.delete(CLAIM, "c", "default")
        await world.clock.sleep(5)
        claim = await world.get(CLAIM, "c")
        assert "deletionTimestamp" in claim["metadata"]
        assert (world.root / claim["spec"]["volumeName"]).is_dir()
        pod = await world.client.get(("v1", "Pod"), "p", "default")
        await world.client.update_status(("v1", "Pod"), {**pod, "status": {"phase": "Succeeded"}}, "default")
        await world.clock.sleep(5)
        assert await world.is_gone(CLAIM, "c")

    play(tmp_path, scenario)


def test_a_retained_volume_keeps_its_data_and_goes_to_nobody_else(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        keep = {
            "metadata": {"name": "keep"},
            "provisioner": "longshore.dev/local",
            "reclaimPolicy": "Retain",
        }
        await world.client.create(CLASS, keep)
        claim = await world.claim(storageClassName="keep")
        await world.clock.sleep(1)
        directory = world.root / f"pvc-{claim['metadata']['uid']}"
        (directory / "data").write_text("x")
        await world.client.delete(CLAIM, "c", "default")
        await world.clock.sleep(2)
        assert (await world.get(VOLUME, directory.name))["status"]["phase"] == "Released"
        assert (directory / "data").read_text() == "x"
        again = await world.claim(storageClassName="keep")
        await world.clock.sleep(1)
        assert (await world.get(CLAIM, "c"))["spec"]["volumeName"] == f"pvc-{again['metadata']['uid']}"

    play(tmp_path, scenario)


def test_the_smallest_volume_that_is_large_enough_is_bound(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        for name, size in (("small", "1Gi"), ("large", "10Gi"), ("medium", "5Gi")):
            await world.volume(name, size, f"/srv/{name}")
        await world.claim(size="2Gi", storageClassName="by-hand")
        await world.clock.sleep(1)
        claim = await world.get(CLAIM, "c")
        assert claim["spec"]["volumeName"] == "medium"
        assert claim["status"]["capacity"] == {"storage": "5Gi"}
        assert (await world.get(VOLUME, "small"))["status"]["phase"] == "Available"

    play(tmp_path, scenario)


def test_a_volume_is_given_to_one_claim_and_the_other_waits_for_the_next(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.volume("one", "1Gi", "/srv/one")
        for name in ("a", "b"):
            await world.claim(name, storageClassName="by-hand")
        await world.clock.sleep(1)
        phases = sorted([(await world.get(CLAIM, name))["status"]["phase"] for name in ("a", "b")])
        assert phases == ["Bound", "Pending"]
        await world.volume("two", "1Gi", "/srv/two")
        await world.clock.sleep(1)
        assert {(await world.get(CLAIM, name))["spec"]["volumeName"] for name in ("a", "b")} == {"one", "two"}

    play(tmp_path, scenario)


def test_a_volume_reserved_for_a_claim_waits_for_it(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        ref = {"namespace": "default", "name": "wanted"}
        await world.volume("reserved", "1Gi", "/srv/one", claimRef=ref)
        await world.claim("other", storageClassName="by-hand")
        await world.clock.sleep(1)
        assert (await world.get(CLAIM, "other"))["status"]["phase"] == "Pending"
        await world.claim("wanted", storageClassName="by-hand")
        await world.clock.sleep(1)
        assert (await world.get(CLAIM, "wanted"))["spec"]["volumeName"] == "reserved"

    play(tmp_path, scenario)


def test_data_that_longshore_did_not_make_is_never_deleted(tmp_path: Path) -> None:
    own = tmp_path / "mine"
    own.mkdir()
    (own / "file").write_text("precious")

    async def scenario(world: World) -> None:
        await world.volume("mine", "1Gi", str(own), persistentVolumeReclaimPolicy="Delete")
        await world.claim(storageClassName="by-hand")
        await world.clock.sleep(1)
        await world.client.delete(CLAIM, "c", "default")
        await world.clock.sleep(3)
        status = (await world.get(VOLUME, "mine"))["status"]
        assert status["phase"] == "Failed"
        assert status["message"] == "longshore deletes only the directories that it made itself"
        assert (own / "file").read_text() == "precious"

    play(tmp_path, scenario)


def test_a_claim_of_a_waiting_class_is_bound_once_a_node_is_chosen(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        late = {
            "metadata": {"name": "late"},
            "provisioner": "longshore.dev/local",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        await world.client.create(CLASS, late)
        await world.claim(storageClassName="late")
        await world.clock.sleep(2)
        assert (await world.get(CLAIM, "c"))["status"]["phase"] == "Pending"
        text = "waiting for first consumer to be created before binding"
        assert ("WaitForFirstConsumer", text) in await world.events()
        mark = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"}}}
        await world.client.patch(CLAIM, "c", mark, "default")
        await world.clock.sleep(1)
        assert (await world.get(CLAIM, "c"))["status"]["phase"] == "Bound"

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (
            {"storageClassName": ""},
            "FailedBinding",
            "no persistent volumes available for this claim and no storage class is set",
        ),
        ({"storageClassName": "no"}, "ProvisioningFailed", 'storageclass.storage.k8s.io "no" not found'),
        (
            {"volumeMode": "Block"},
            "ProvisioningFailed",
            'failed to provision volume with StorageClass "longshore-local": '
            "longshore makes directories, no block devices",
        ),
    ],
)
def test_a_claim_that_waits_says_why(tmp_path: Path, spec: Obj, reason: str, message: str) -> None:
    async def scenario(world: World) -> None:
        await world.claim(**spec)
        await world.clock.sleep(2)
        assert (await world.get(CLAIM, "c"))["status"]["phase"] == "Pending"
        assert (reason, message) in await world.events()

    play(tmp_path, scenario)


def test_a_claim_whose_volume_is_taken_away_is_lost(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.volume("mine", "1Gi", "/srv/mine")
        await world.claim(storageClassName="by-hand")
        await world.clock.sleep(1)
        await world.client.delete(VOLUME, "mine")
        await world.clock.sleep(1)
        assert "deletionTimestamp" in (await world.get(VOLUME, "mine"))["metadata"]  # protected by its claim
        await world.client.patch(VOLUME, "mine", {"metadata": {"finalizers": None}})
        await world.clock.sleep(1)
        assert (await world.get(CLAIM, "c"))["status"]["phase"] == "Lost"
        assert "ClaimLost" in {reason for reason, _ in await world.events()}

    play(tmp_path, scenario)


def test_a_claim_made_before_there_was_a_class_gets_the_default_one(tmp_path: Path) -> None:
    async def before(world: World) -> None:
        await world.claim()

    async def scenario(world: World) -> None:
        assert (await world.get(CLAIM, "c"))["status"]["phase"] == "Bound"

    play(tmp_path, scenario, before=before)


def test_a_class_that_was_changed_is_left_as_it_is(tmp_path: Path) -> None:
    async def before(world: World) -> None:
        own = {"metadata": {"name": "longshore-local"}, "provisioner": "longshore.dev/local"}
        await world.client.create(CLASS, own)

    async def scenario(world: World) -> None:
        assert "annotations" not in (await world.get(CLASS, "longshore-local"))["metadata"]

    play(tmp_path, scenario, before=before)
