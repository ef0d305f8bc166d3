"""Workload and PodGroup of scheduling.k8s.io (alpha): gangs by minCount, where somebody turned them on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from longshore.api import cron, features
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.controllers import CONTROLLERS
from longshore.plane.plane import Parts, Plane
from longshore.store import Store
from longshore.testing.keys import SeededKeys
from support.scheduling_scene import NODES, pod

JOBS, PODS = ("batch/v1", "Job"), ("v1", "Pod")


@pytest.fixture(autouse=True)
def _off_again() -> Iterator[None]:
    yield
    features.turn_off(features.WORKLOADS)


def play(script: Any, *, workloads: bool = True) -> None:
    async def whole(clock: VirtualClock) -> None:
        names = tuple(name for name in CONTROLLERS if name != "volume")
        store = Store.open(None)
        parts = Parts(store, clock, clock.rng, cron.UTC, SeededKeys(clock.rng), names, workloads=workloads)
        plane = Plane(parts)
        await plane.prepare()
        async with plane.running():
            await script(plane.client, clock)

    virtual.run(whole)


async def node(client: LocalClient, cpus: int) -> None:
    give = {"cpu": str(cpus), "memory": "4Gi", "pods": "110"}
    await client.create(NODES, {"metadata": {"name": "n"}})
    await client.patch(NODES, "n", {"spec": {"taints": None}})
    await client.patch(NODES, "n", {"status": {"capacity": give, "allocatable": give}}, subresource="status")


def group(name: str, policy: Obj) -> Obj:
    return {"metadata": {"name": name}, "spec": {"schedulingPolicy": policy}}


def job(name: str, pods: int, **template: Any) -> Obj:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"restartPolicy": "Never", "containers": [container], **template}
    return {
        "metadata": {"name": name},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": {"spec": spec},
        },
    }


async def bound(client: LocalClient) -> int:
    return sum(bool(each["spec"].get("nodeName")) for each in (await client.list(PODS, "default")).items)


async def scheduled(client: LocalClient, name: str) -> tuple[str, str]:
    found = await client.get(kinds.SCHEDULING_GROUPS, name, "default")
    (told,) = found["status"]["conditions"]
    return told["status"], told["reason"]


def test_a_job_with_a_workload_starts_as_a_whole_or_not_at_all() -> None:
    async def script(client: LocalClient, clock: VirtualClock) -> None:
        await node(client, 2)
        workload = {
            "metadata": {"name": "w"},
            "spec": {
                "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "train"},
                "podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 3}}}],
            },
        }
        await client.create(kinds.WORKLOADS, workload, "default")
        await clock.sleep(1)
        await client.create(JOBS, job("train", 3), "default")
        await clock.sleep(10)
        assert await bound(client) == 0
        assert await scheduled(client, "w-workers") == ("False", "Unschedulable")
        first = (await client.list(PODS, "default")).items[0]
        assert first["spec"]["schedulingGroup"] == {"podGroupName": "w-workers"}
        more = {"cpu": "3", "memory": "4Gi", "pods": "110"}
        await client.patch(NODES, "n", {"status": {"allocatable": more}}, subresource="status")
        await clock.sleep(10)
        assert await bound(client) == 3
        assert await scheduled(client, "w-workers") == ("True", "Scheduled")

    play(script)


def test_a_template_may_name_its_group_itself() -> None:
    async def script(client: LocalClient, clock: VirtualClock) -> None:
        await node(client, 2)
        await client.create(kinds.SCHEDULING_GROUPS, group("g", {"gang": {"minCount": 2}}), "default")
        named = {"schedulingGroup": {"podGroupName": "g"}}
        await client.create(JOBS, job("train", 2, **named), "default")
        await clock.sleep(10)
        assert await bound(client) == 2

    play(script)


def test_pods_of_a_basic_group_are_scheduled_one_by_one() -> None:
    async def script(client: LocalClient, clock: VirtualClock) -> None:
        await node(client, 1)
        await client.create(kinds.SCHEDULING_GROUPS, group("g", {"basic": {}}), "default")
        for name in ("a", "b"):
            made = pod(name, {"cpu": "1"}, schedulingGroup={"podGroupName": "g"})
            await client.create(PODS, made, "default")
        await clock.sleep(5)
        assert await bound(client) == 1
        found = await client.get(PODS, "a", "default")
        assert found["spec"]["schedulerName"] == "default-scheduler"

    play(script)


def test_pods_whose_group_is_not_there_wait_for_it() -> None:
    async def script(client: LocalClient, clock: VirtualClock) -> None:
        await node(client, 1)
        await client.create(PODS, pod("a", {"cpu": "1"}, schedulingGroup={"podGroupName": "g"}), "default")
        await clock.sleep(5)
        assert await bound(client) == 0
        await client.create(kinds.SCHEDULING_GROUPS, group("g", {"gang": {"minCount": 1}}), "default")
        await clock.sleep(5)
        assert await bound(client) == 1

    play(script)


@pytest.mark.parametrize("policy", [{}, {"gang": {"minCount": 0}}, {"basic": {}, "gang": {"minCount": 1}}])
def test_a_group_has_one_policy_that_makes_sense(policy: Obj) -> None:
    async def script(client: LocalClient, clock: VirtualClock) -> None:
        with pytest.raises(StatusError) as caught:
            await client.create(kinds.SCHEDULING_GROUPS, group("g", policy), "default")
        assert caught.value.code == 422

    play(script)


def test_turned_off_the_kinds_are_unknown_and_the_field_is_dropped() -> None:
    async def script(client: LocalClient, clock: VirtualClock) -> None:
        with pytest.raises(LookupError, match="longshore has no 'PodGroup' in scheduling"):
            await client.create(kinds.SCHEDULING_GROUPS, group("g", {"basic": {}}), "default")
        made = pod("a", {"cpu": "1"}, schedulingGroup={"podGroupName": "g"})
        await client.create(PODS, made, "default")
        found = await client.get(PODS, "a", "default")
        assert "schedulingGroup" not in found["spec"]
        assert found["spec"]["schedulerName"] == "default-scheduler"

    play(script, workloads=False)
