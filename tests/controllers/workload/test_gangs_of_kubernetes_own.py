"""Workload and PodGroup of scheduling.k8s.io (alpha): gangs by minCount, where somebody turned them on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from longshore.api import cron, features
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane import controllers
from longshore.plane.controllers import CONTROLLERS
from longshore.plane.plane import Parts, Plane
from longshore.plane.wiring import Wiring, informers_of
from longshore.store import Store
from longshore.testing.crashing import Death, MortalClient, until_dead
from longshore.testing.keys import SeededKeys
from longshore.testing.stories import as_client, beside
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


async def pods_of(client: LocalClient, name: str) -> list[Obj]:
    return (await client.list(PODS, "default", labels=f"job-name={name}")).items


def test_a_job_that_runs_all_its_indexes_at_once_makes_its_own_workload() -> None:
    async def script(client: LocalClient, clock: VirtualClock) -> None:
        await node(client, 2)
        made = await client.create(JOBS, job("train", 3), "default")
        await clock.sleep(10)
        (workload,) = (await client.list(kinds.WORKLOADS, "default")).items
        (found,) = (await client.list(kinds.SCHEDULING_GROUPS, "default")).items
        assert workload["metadata"]["name"].startswith("train-")
        assert workload["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
        assert workload["spec"]["podGroupTemplates"] == [
            {"name": "train-pgt-0", "schedulingPolicy": {"gang": {"minCount": 3}}}
        ]
        assert [each["kind"] for each in found["metadata"]["ownerReferences"]] == ["Job", "Workload"]
        name = found["metadata"]["name"]
        assert {
            each["spec"]["schedulingGroup"]["podGroupName"] for each in await pods_of(client, "train")
        } == {name}
        assert await bound(client) == 0
        assert await scheduled(client, name) == ("False", "Unschedulable")
        more = {"cpu": "3", "memory": "4Gi", "pods": "110"}
        await client.patch(NODES, "n", {"status": {"allocatable": more}}, subresource="status")
        await clock.sleep(10)
        assert await bound(client) == 3
        events = (await client.list(("v1", "Event"), "default")).items
        told = [each["message"] for each in events if each["reason"] == "WorkloadCreated"]
        assert told == [f"Created Workload {workload['metadata']['name']} for Job train"]
        await client.delete(JOBS, "train", "default", DeleteOptions(propagation="Background"))
        await clock.sleep(60)
        for kind in (kinds.WORKLOADS, kinds.SCHEDULING_GROUPS, kinds.POD_GROUPS):
            assert (await client.list(kind, "default")).items == []

    play(script)


@pytest.mark.parametrize(
    "change",
    [
        {"completionMode": "NonIndexed"},
        {"parallelism": 1},
        {"completions": 1, "parallelism": 1},
    ],
)
def test_a_job_of_another_shape_makes_none(change: Obj) -> None:
    async def script(client: LocalClient, clock: VirtualClock) -> None:
        await node(client, 2)
        one = job("plain", 2)
        await client.create(JOBS, {**one, "spec": {**one["spec"], **change}}, "default")
        await clock.sleep(10)
        assert await pods_of(client, "plain")
        assert (await client.list(kinds.WORKLOADS, "default")).items == []
        assert all("schedulingGroup" not in each["spec"] for each in await pods_of(client, "plain"))

    play(script)


def test_a_job_that_began_before_makes_none_and_one_whose_workload_is_there_makes_no_other() -> None:
    async def script(client: LocalClient, clock: VirtualClock) -> None:
        held = job("held", 2)
        held["spec"]["suspend"] = True
        await client.create(JOBS, held, "default")
        await clock.sleep(5)
        await client.patch(JOBS, "held", {"spec": {"suspend": False}}, "default")
        await clock.sleep(10)
        assert await pods_of(client, "held")
        assert (await client.list(kinds.WORKLOADS, "default")).items == []
        other = {
            "metadata": {"name": "other"},
            "spec": {
                "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "train"},
                "podGroupTemplates": [{"name": "w", "schedulingPolicy": {"gang": {"minCount": 2}}}],
            },
        }
        await client.create(kinds.WORKLOADS, other, "default")
        await clock.sleep(1)
        await client.create(JOBS, job("train", 2), "default")
        await clock.sleep(10)
        assert len((await client.list(kinds.WORKLOADS, "default")).items) == 1
        groups = {each["spec"]["schedulingGroup"]["podGroupName"] for each in await pods_of(client, "train")}
        assert groups == {"other-w"}

    play(script)


@pytest.mark.parametrize("last", range(1, 6))
def test_a_controller_that_dies_at_any_write_makes_each_object_once(last: int) -> None:
    async def main(clock: VirtualClock) -> None:
        store = Store.open(None)
        parts = Parts(store, clock, clock.rng, cron.UTC, SeededKeys(clock.rng), (), workloads=True)
        plane = Plane(parts)
        await plane.prepare()
        client = plane.client
        await client.create(JOBS, job("train", 3), "default")
        mortal = MortalClient(client, clock, last, Death.UNSEEN)
        await until_dead(_controllers(as_client(mortal), clock), mortal)
        async with beside(_controllers(client, clock)):
            await clock.sleep(60)
            assert len((await client.list(kinds.WORKLOADS, "default")).items) == 1
            (found,) = (await client.list(kinds.SCHEDULING_GROUPS, "default")).items
            pods = await pods_of(client, "train")
            assert len(pods) == 3
            assert {each["spec"]["schedulingGroup"]["podGroupName"] for each in pods} == {
                found["metadata"]["name"]
            }

    virtual.run(main)


async def _controllers(client: Client, clock: VirtualClock) -> None:
    informers = informers_of(client, ("job",), clock=clock, rng=clock.rng)
    wiring = Wiring(clock, clock.rng, informers, zone=cron.UTC, keys=SeededKeys(clock.rng))
    await asyncio.gather(*controllers.start(("job",), client, wiring))
