"""Pods with `scheduling.volcano.sh/queue-allocation-gate`: nobody sees them until their queue has room."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.facts.queue_gate import KEY
from longshore.scheduler.gang.settings import DEFAULT_ACTIONS
from longshore.testing.injected_faults import Fault, Faults, StruckClient, unavailable
from support.scheduler_settings import FIRST, SECOND, settings, swapped
from support.scheduling_scene import PODGROUPS, PODS, Scene, play, pod

ACTIONS = ", ".join(DEFAULT_ACTIONS)
GANGS = settings(FIRST, swapped(SECOND, "proportion", "capacity"), actions=ACTIONS)


async def member(scene: Scene, name: str, queue: str = "q", **spec: Any) -> None:
    """A gang of one pod that asks for the gate."""
    group = {"metadata": {"name": name}, "spec": {"minMember": 1, "queue": queue}}
    await scene.client.create(PODGROUPS, group, "default")
    notes = {"scheduling.k8s.io/group-name": name, KEY: "true"}
    made = pod(name, {"cpu": "1"}, schedulerName="volcano", meta={"annotations": notes}, **spec)
    await scene.client.create(PODS, made, "default")


async def gates(scene: Scene, name: str) -> list[str]:
    found = await scene.get(name)
    assert found is not None
    return [gate["name"] for gate in found["spec"].get("schedulingGates") or ()]


async def one_at_a_time(scene: Scene) -> None:
    await scene.node(give={"cpu": "4"})
    await scene.queue("q", capability={"cpu": "1"})


def test_a_pod_is_gated_until_its_queue_has_room_and_is_then_bound() -> None:
    async def story(scene: Scene) -> None:
        await one_at_a_time(scene)
        await member(scene, "first")
        await scene.settle()
        assert (await gates(scene, "first"), await scene.node_of("first")) == ([], "n1")
        await member(scene, "second")
        await scene.settle(2)
        assert await gates(scene, "second") == [KEY]
        assert (await scene.condition("second"))["reason"] == "SchedulingGated"  # nobody adds a node for it
        await scene.finish("first")
        await scene.settle(2)
        assert (await gates(scene, "second"), await scene.node_of("second")) == ([], "n1")

    play(story, gangs=GANGS)


def test_room_that_was_found_for_a_pod_without_a_node_is_kept_for_it() -> None:
    async def story(scene: Scene) -> None:
        await one_at_a_time(scene)
        await member(scene, "picky", nodeSelector={"disk": "fast"})
        await scene.settle(2)
        assert await gates(scene, "picky") == []
        assert (await scene.condition("picky"))["reason"] == "Unschedulable"  # now a node would help
        await member(scene, "other")
        await scene.settle(2)
        assert (await gates(scene, "other"), await scene.bound("other")) == ([KEY], [])
        await scene.node("fast", labels={"disk": "fast"})
        await scene.settle(2)
        assert await scene.node_of("picky") == "fast"

    play(story, gangs=GANGS)


def test_as_many_are_let_in_as_the_queue_has_room_for() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "8"})
        await scene.queue("q", capability={"cpu": "2"})
        for name in "abcd":
            await member(scene, name)
        await scene.settle(2)
        found = [await gates(scene, name) for name in "abcd"]
        assert found.count([]) == 2
        assert found.count([KEY]) == 2

    play(story, gangs=GANGS)


def test_other_gates_of_a_pod_come_first() -> None:
    async def story(scene: Scene) -> None:
        await one_at_a_time(scene)
        await member(scene, "p", schedulingGates=[{"name": "example.com/wait"}])
        await scene.settle(2)
        assert await gates(scene, "p") == ["example.com/wait", KEY]
        await scene.client.patch(PODS, "p", {"spec": {"schedulingGates": [{"name": KEY}]}}, "default")
        await scene.settle(2)
        assert (await gates(scene, "p"), await scene.node_of("p")) == ([], "n1")

    play(story, gangs=GANGS)


@pytest.mark.parametrize(("annotation", "scheduler"), [("false", "volcano"), ("true", "default-scheduler")])
def test_who_does_not_ask_for_the_gate_or_has_another_scheduler_gets_none(
    annotation: str, scheduler: str
) -> None:
    async def story(scene: Scene) -> None:
        made = pod("p", schedulerName=scheduler, meta={"annotations": {KEY: annotation}})
        await scene.client.create(PODS, made, "default")
        assert await gates(scene, "p") == []

    play(story, gangs=GANGS)


def test_what_waits_for_its_queue_is_promised_unlike_what_waits_for_others() -> None:
    async def story(scene: Scene) -> None:
        await scene.node(give={"cpu": "1"})
        await scene.queue("q", capability={"cpu": "1"})
        await scene.pod("taken", {"cpu": "1"})
        group = {"minMember": 1, "queue": "q", "minResources": {"cpu": "1"}}
        await scene.client.create(PODGROUPS, {"metadata": {"name": "g"}, "spec": group}, "default")
        notes = {"scheduling.k8s.io/group-name": "g", KEY: "true"}
        made = pod("g", {"cpu": "1"}, schedulerName="volcano", meta={"annotations": notes})
        await scene.client.create(PODS, made, "default")
        await scene.settle()
        await scene.gang("later", 1, 0, {"cpu": "1"}, queue="q")
        await scene.settle(2)
        assert (await scene.phase("g"), await scene.phase("later")) == ("Inqueue", "Pending")

    play(
        story,
        gangs=settings(
            FIRST, swapped(swapped(SECOND, "overcommit"), "proportion", "capacity"), actions=ACTIONS
        ),
    )


def test_a_gate_that_could_not_be_opened_is_opened_later() -> None:
    async def story(scene: Scene) -> None:
        await scene.stop()
        faults = Faults(scene.clock)
        faults.add(Fault("PATCH pods", "controllers", unavailable, times=2))
        scene.client = StruckClient(scene.client, scene.clock, faults)
        scene.start()
        await one_at_a_time(scene)
        await member(scene, "p")
        await scene.settle(10)
        assert (await gates(scene, "p"), await scene.node_of("p")) == ([], "n1")

    play(story, gangs=GANGS)
