"""One container, no probes, no hooks: what most pods are."""

from __future__ import annotations

import pytest

from longshore.api.types import Obj
from longshore.node.runtime import Container
from longshore.testing.scripted_runtime import Run
from support.node_world import World, a_pod, scripted, told


def condition(status: Obj, kind: str) -> Obj:
    found: Obj = next(c for c in status["conditions"] if c["type"] == kind)
    return found


def test_a_command_that_ends_well_makes_the_pod_succeed() -> None:
    async def story(world: World) -> None:
        await world.create()
        status = await world.phase("Succeeded")
        (main,) = status["containerStatuses"]
        ended = main["state"]["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
        assert ended["containerID"] == main["containerID"] == "process://main-0"
        assert main["ready"] is False
        assert main["started"] is False
        assert main["restartCount"] == 0
        assert condition(status, "Ready")["reason"] == "PodCompleted"
        assert condition(status, "ContainersReady")["reason"] == "PodCompleted"
        assert condition(status, "Initialized")["status"] == "True"
        assert status["podIP"].startswith("127.")
        assert status["hostIP"] == "127.0.0.1"
        assert status["startTime"]

    told(story)


def test_a_command_that_ends_at_once_costs_one_status_write() -> None:
    async def story(world: World) -> None:
        assert world.agent is not None
        await world.create()
        await world.phase("Succeeded")
        await world.clock.sleep(1)
        assert world.agent.status_writes == 1
        assert world.machine.states == {}

    told(story, scripted(main=Run(0.005)))


def test_an_end_that_comes_as_an_earlier_status_is_sent_is_reported_too() -> None:
    """Whatever the moment: the held-back status of a running pod is sent a little after 25 ms."""

    async def story(world: World) -> None:
        await world.create()
        status = await world.phase("Succeeded", seconds=60)
        assert status["containerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"

    for tenths in range(250, 275):
        told(story, scripted(main=Run(tenths / 10_000)))


def test_each_pod_is_held_back_for_its_own_moment() -> None:
    """Short ones in between cost one write each, and hold nobody up; long ones are shown to run at once."""

    async def story(world: World) -> None:
        assert world.agent is not None
        for number in range(6):
            short = number % 2
            await world.create(name=f"p{number}", containers=[{"name": "short" if short else "long"}])
            await world.clock.sleep(0.007)
        await world.clock.sleep(0.03)
        phases = [(await world.status(f"p{number}"))["phase"] for number in range(6)]
        assert phases == ["Running", "Succeeded"] * 3
        assert world.agent.status_writes == 6

    told(story, scripted(short=Run(0.001), long=Run(None)))


def test_a_command_that_fails_makes_the_pod_fail() -> None:
    async def story(world: World) -> None:
        await world.create()
        status = await world.phase("Failed")
        ended = status["containerStatuses"][0]["state"]["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (3, "Error")
        assert condition(status, "Ready")["reason"] == "PodFailed"

    told(story, scripted(main=Run(code=3)))


def test_a_pod_that_runs_is_ready() -> None:
    async def story(world: World) -> None:
        await world.create()
        status = await world.phase("Running")
        assert [c["type"] for c in status["conditions"]][:4] == [
            "PodReadyToStartContainers",
            "Initialized",
            "Ready",
            "ContainersReady",
        ]
        assert {c["status"] for c in status["conditions"]} == {"True"}
        (main,) = status["containerStatuses"]
        assert main["ready"] is main["started"] is True
        assert "running" in main["state"]
        assert status["observedGeneration"] == 1

    told(story, scripted(main=Run(None)))


def test_events_tell_of_the_start_and_that_the_image_is_not_used() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.phase("Succeeded")
        events = await world.events("reason", "message", "type")
        assert [e[0] for e in events] == ["ImageNotUsed", "Created", "Started"]
        assert ("Started", "Container started", "Normal") in events

    told(story)


def test_unused_images_are_told_once_for_the_pods_of_one_owner_with_the_same_images() -> None:
    async def story(world: World) -> None:
        for number, (owner, image) in enumerate([("a", "x"), ("a", "x"), ("a", "y"), ("b", "x"), ("b", "x")]):
            pod = a_pod(f"p{number}", containers=[{"name": "main", "image": image}])
            kind = {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": owner}
            pod["metadata"]["ownerReferences"] = [{**kind, "controller": True}]
            await world.create(pod)
            await world.phase("Succeeded", name=f"p{number}")
        told_of = [
            about["name"]
            for reason, about in await world.events("reason", "involvedObject")
            if reason == "ImageNotUsed"
        ]
        assert told_of == ["p0", "p2", "p3"]

    told(story)


@pytest.mark.parametrize("after", [n / 1000 for n in range(10, 20)])
def test_an_end_is_reported_whenever_it_comes(after: float) -> None:
    """Among others in the very moment in which the report that it runs is about to be written."""

    async def story(world: World) -> None:
        for n in range(20):
            await world.create(name=f"p{n}")
        for n in range(20):
            await world.phase("Succeeded", name=f"p{n}", seconds=10)

    def script(container: Container) -> Run:
        return Run(after + int(container.pod[1:]) * 0.00005)

    told(story, script)
