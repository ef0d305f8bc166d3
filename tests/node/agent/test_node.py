"""The node in the API, its capacity, its addresses, and how many events it writes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from longshore.api import errors
from longshore.api.types import Obj
from longshore.node import capacity
from longshore.node.addresses import Addresses
from longshore.node.admission import Ledger
from longshore.node.capacity import BadCapacity, Capacity
from longshore.node.disk_pressure import DiskPressure, Free
from longshore.testing.scripted_runtime import Run
from longshore.up import machine
from support.node_world import NODE, World, scripted, told


def test_the_node_registers_itself_ready_and_without_taints() -> None:
    async def story(world: World) -> None:
        node = await world.client.get(("v1", "Node"), NODE)
        assert node["spec"].get("taints") is None
        conditions = {c["type"]: c["status"] for c in node["status"]["conditions"]}
        assert conditions == {
            "MemoryPressure": "False",
            "DiskPressure": "False",
            "PIDPressure": "False",
            "Ready": "True",
        }
        assert node["status"]["capacity"] == node["status"]["allocatable"] == world.node.capacity.amounts
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == NODE
        assert node["metadata"]["annotations"] == {"process.engines.longshore.dev/limits": "none"}

    told(story)


def test_what_an_engine_lacked_once_and_has_now_is_told_no_longer() -> None:
    async def story(world: World) -> None:
        outdated = {
            "process.engines.longshore.dev/notes": "Volumes cannot be mounted.",
            "example.com/mine": "x",
        }
        await world.client.patch(("v1", "Node"), NODE, {"metadata": {"annotations": outdated}})
        await world.clock.sleep(310)
        node = await world.client.get(("v1", "Node"), NODE)
        assert node["metadata"]["annotations"] == {
            "process.engines.longshore.dev/limits": "none",
            "example.com/mine": "x",
        }

    told(story)


def test_its_lease_is_renewed_every_ten_seconds() -> None:
    async def story(world: World) -> None:
        seen = set()
        await world.clock.sleep(5)
        for _ in range(5):
            lease = await world.client.get(("coordination.k8s.io/v1", "Lease"), NODE, "kube-node-lease")
            seen.add(lease["spec"]["renewTime"])
            assert lease["spec"]["leaseDurationSeconds"] == 40
            await world.clock.sleep(10)
        assert len(seen) == 5

    told(story)


def test_a_node_that_was_deleted_is_there_again_after_five_minutes() -> None:
    async def story(world: World) -> None:
        await world.client.delete(("v1", "Node"), NODE)
        await world.clock.sleep(310)
        assert await world.client.get(("v1", "Node"), NODE)

    told(story)


async def condition(world: World, kind: str) -> tuple[str, str, str]:
    node = await world.client.get(("v1", "Node"), NODE)
    found = next(c for c in node["status"]["conditions"] if c["type"] == kind)
    return found["status"], found["reason"], found["message"]


async def taints(world: World) -> list[str]:
    node = await world.client.get(("v1", "Node"), NODE)
    return [taint["key"] for taint in node["spec"].get("taints") or ()]


def test_a_disk_that_is_nearly_full_is_said_and_keeps_new_pods_away() -> None:
    free = Free(10 << 30, 100 << 30)

    def before(world: World) -> None:
        world.free = lambda: free

    async def story(world: World) -> None:
        nonlocal free
        assert (await condition(world, "DiskPressure"))[0] == "False"
        free = Free(100 << 20, 100 << 30)
        await world.clock.sleep(11)
        said = ("True", "KubeletHasDiskPressure", "kubelet has disk pressure")
        assert await condition(world, "DiskPressure") == said
        assert await taints(world) == ["node.kubernetes.io/disk-pressure"]
        free = Free(300 << 20, 100 << 30)  # more than where it began, but not by much
        await world.clock.sleep(11)
        assert (await condition(world, "DiskPressure"))[0] == "True"
        free = Free(1 << 30, 100 << 30)
        await world.clock.sleep(11)
        assert (await condition(world, "DiskPressure"))[0] == "False"
        assert await taints(world) == []

    told(story, before=before)


def test_a_change_that_could_not_be_reported_is_reported_with_the_next_heartbeat() -> None:
    free = Free(10 << 30, 100 << 30)

    def before(world: World) -> None:
        world.free = lambda: free

    async def story(world: World) -> None:
        nonlocal free
        free = Free(100 << 20, 100 << 30)
        patch, refused = world.client.patch, [errors.internal("no")]

        async def spoiled(*args: Any, **more: Any) -> Obj:
            if refused:
                raise refused.pop()
            return await patch(*args, **more)

        world.client.patch = spoiled  # type: ignore[method-assign] # one that fails once
        await world.clock.sleep(11)
        assert not refused
        assert await taints(world) == []
        await world.clock.sleep(10)
        assert await taints(world) == ["node.kubernetes.io/disk-pressure"]

    told(story, before=before)


@pytest.mark.parametrize(
    ("free", "pressed"),
    [
        (Free(4 << 20, 64 << 20), False),  # a small disk is measured by its size
        (Free(3 << 20, 64 << 20), True),
        (Free(10 << 30, 100 << 30, files=500), True),
        (Free(10 << 30, 100 << 30, files=None), False),
        (None, False),
    ],
)
def test_pressure_is_few_bytes_or_few_files(free: Free | None, pressed: bool) -> None:
    disk = DiskPressure(lambda: free)
    disk.check()
    assert disk.is_on is pressed


def test_a_node_whose_engine_does_not_work_is_not_ready_and_says_why() -> None:
    def before(world: World) -> None:
        world.machine.problem = "podman does not work here: no space"

    async def story(world: World) -> None:
        status, reason, message = await condition(world, "Ready")
        assert (status, reason) == ("False", "KubeletNotReady")
        assert message == "container runtime is down: podman does not work here: no space"
        assert await taints(world) == ["node.kubernetes.io/not-ready"]
        world.machine.problem = ""
        await world.clock.sleep(11)
        assert (await condition(world, "Ready"))[0] == "True"
        assert await taints(world) == []

    told(story, before=before)


def test_capacity_is_declared_by_name_and_amount() -> None:
    assert capacity.parse("cpu=4, memory=8Gi,example.com/gpu=2") == {
        "cpu": "4",
        "memory": "8Gi",
        "example.com/gpu": "2",
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cpu", "NAME=AMOUNT"),
        ("cpu=many", "quantities must match"),
        ("cpu=-1", "must not be negative"),
        ("gpu=1", "no resource of a node"),
        ("cpu=1,cpu=2", "given twice"),
    ],
)
def test_what_is_no_capacity_is_refused_with_a_reason(text: str, problem: str) -> None:
    with pytest.raises(BadCapacity, match=problem):
        capacity.parse(text)


def test_the_machine_has_something_to_give_and_declared_amounts_win(tmp_path: Path) -> None:
    found = machine.capacity(tmp_path, declared={"cpu": "64", "example.com/gpu": "1"})
    assert found.number("cpu") == 64_000
    assert found.number("memory") > 0
    assert found.number("pods") == 500
    assert found.number("example.com/gpu") == 1
    assert found.number("other") == 0


def test_every_pod_has_an_address_of_its_own_that_stays() -> None:
    addresses = Addresses()
    uids = [f"{random.Random(n).getrandbits(128):x}" for n in range(2000)]
    found = {uid: addresses.of(uid) for uid in uids}
    assert len(set(found.values())) == 2000
    assert all(addresses.of(uid) == found[uid] for uid in uids)
    assert all(64 <= int(address.split(".")[1]) <= 127 for address in found.values())
    assert addresses.of("new", known="127.100.0.7") == "127.100.0.7"


def test_the_ledger_counts_what_pods_ask_for_and_takes_it_back() -> None:
    def spec(name: str, amount: str) -> dict[str, object]:
        return {"containers": [{"name": "c", "resources": {"requests": {name: amount}}}]}

    ledger = Ledger(Capacity({"cpu": "1", "memory": "1Gi", "pods": "2", "example.com/gpu": "1"}))
    assert ledger.admit("a", spec("example.com/gpu", "1")) is None
    refused = ledger.admit("b", spec("example.com/gpu", "1"))
    assert refused is not None
    assert refused.reason == "OutOfexample.com/gpu"
    assert ledger.admit("c", spec("cpu", "600m")) is None
    refused = ledger.admit("d", spec("memory", "1Mi"))
    assert refused is not None
    assert refused.reason == "OutOfpods"
    ledger.release("a")
    refused = ledger.admit("e", spec("cpu", "600m"))
    assert refused is not None
    assert refused.reason == "OutOfcpu"
    assert ledger.admit("f", spec("example.com/gpu", "1")) is None


def test_no_more_events_are_written_than_upstream_would() -> None:
    async def story(world: World) -> None:
        for n in range(100):
            await world.create(name=f"p{n}")
        await world.phase("Succeeded", name="p99")
        assert 100 <= len(await world.events()) < 200

    def many(world: World) -> None:
        world.node.capacity = Capacity({**world.node.capacity.amounts, "pods": "500"})

    told(story, scripted(main=Run(0.1)), before=many)
