"""Deletion, grace periods, hooks on the way out, deadlines."""

from __future__ import annotations

import asyncio

from longshore.api.types import Obj
from longshore.client import DeleteOptions
from longshore.testing.scripted_runtime import Exec, Run
from support.node_world import NS, PODS, World, scripted, told


def numbers(world: World) -> list[tuple[int, int]]:
    """Signals with the second they came at."""
    return [(round(at), number) for at, _, number in world.machine.signals]


async def last_states(world: World, seen: list[Obj]) -> None:
    async with world.client.watch(PODS, NS) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                seen.append(event.object)


def test_a_deleted_pod_is_asked_to_stop_reported_and_removed() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.phase("Running")
        seen: list[Obj] = []
        watching = asyncio.create_task(last_states(world, seen))
        await world.clock.sleep(1)
        await world.client.delete(PODS, "p", NS)
        await world.gone()
        watching.cancel()
        assert [number for _, number in numbers(world)] == [15]
        last = seen[-1]["status"]
        assert last["phase"] == "Failed"
        assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
        assert ("Killing", "Stopping container main") in await world.events()
        assert world.machine.states == {}
        assert world.preparer.removed == [seen[-1]["metadata"]["uid"]]

    told(story, scripted(main=Run(None, on_term=1.0)))


def test_one_that_does_not_listen_is_killed_when_its_grace_period_is_over() -> None:
    async def story(world: World) -> None:
        await world.create(terminationGracePeriodSeconds=7)
        await world.phase("Running")
        begun = world.clock.monotonic()
        await world.client.delete(PODS, "p", NS)
        await world.gone()
        assert [number for _, number in numbers(world)] == [15, 9]
        assert 7 <= world.clock.monotonic() - begun < 8

    told(story, scripted(main=Run(None, on_term=None)))


def test_a_grace_period_can_be_shortened() -> None:
    async def story(world: World) -> None:
        await world.create(terminationGracePeriodSeconds=600)
        await world.phase("Running")
        await world.client.delete(PODS, "p", NS)
        await world.clock.sleep(5)
        begun = world.clock.monotonic()
        await world.client.delete(PODS, "p", NS, DeleteOptions(grace_period_seconds=3))
        await world.gone()
        assert world.clock.monotonic() - begun < 5

    told(story, scripted(main=Run(None, on_term=None)))


def test_a_grace_period_can_be_shortened_for_a_sidecar_that_stops_already() -> None:
    async def story(world: World) -> None:
        sidecar = {"name": "side", "restartPolicy": "Always"}
        await world.create(initContainers=[sidecar], terminationGracePeriodSeconds=3600)
        await world.phase("Running")
        await world.clock.sleep(10)
        assert [number for _, number in numbers(world)] == [15], "its main container has ended"
        begun = world.clock.monotonic()
        await world.client.delete(PODS, "p", NS, DeleteOptions(grace_period_seconds=3))
        await world.gone()
        assert world.clock.monotonic() - begun < 5

    told(story, scripted(side=Run(None, on_term=None), main=Run(5.0)))


def test_a_sidecar_that_stops_already_does_not_outlive_a_pod_deleted_by_force() -> None:
    async def story(world: World) -> None:
        sidecar = {"name": "side", "restartPolicy": "Always"}
        await world.create(initContainers=[sidecar], terminationGracePeriodSeconds=3600)
        await world.phase("Running")
        await world.clock.sleep(10)
        await world.client.delete(PODS, "p", NS, DeleteOptions(grace_period_seconds=0))
        await world.clock.sleep(5)
        assert [number for _, number in numbers(world)] == [15, 9]
        assert world.machine.states == {}

    told(story, scripted(side=Run(None, on_term=None), main=Run(5.0)))


def test_a_pod_deleted_by_force_is_stopped_all_the_same() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.phase("Running")
        await world.client.delete(PODS, "p", NS, DeleteOptions(grace_period_seconds=0))
        assert await world.get() is None
        await world.clock.sleep(5)
        assert [number for _, number in numbers(world)] == [15, 9]
        assert world.machine.states == {}

    told(story, scripted(main=Run(None, on_term=None)))


def test_a_pod_whose_containers_end_well_on_the_stop_signal_has_succeeded() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.phase("Running")
        pod = await world.get()
        assert pod is not None
        await world.client.patch(PODS, "p", {"metadata": {"finalizers": ["example.com/keep"]}}, NS)
        await world.client.delete(PODS, "p", NS)
        assert (await world.phase("Succeeded"))["containerStatuses"][0]["state"]["terminated"][
            "exitCode"
        ] == 0

    told(story, scripted(main=Run(None, on_term=1.0, term_code=0)))


def test_the_pre_stop_hook_runs_before_the_stop_signal_and_its_time_counts() -> None:
    hook = {"preStop": {"exec": {"command": ["bye"]}}}

    async def story(world: World) -> None:
        world.machine.execs = lambda key, command: Exec(seconds=4.0)
        await world.create(containers=[{"name": "main", "lifecycle": hook}], terminationGracePeriodSeconds=10)
        await world.phase("Running")
        begun = world.clock.monotonic()
        await world.client.delete(PODS, "p", NS)
        await world.gone()
        asked, killed = (at - begun for at, _, _ in world.machine.signals)
        assert 3.9 < asked < 4.5
        assert 9.9 < killed < 10.5
        assert ("exec bye", str(next(iter(world.machine.started)))) in world.machine.calls

    told(story, scripted(main=Run(None, on_term=None)))


def test_a_pre_stop_hook_that_takes_too_long_leaves_two_seconds_for_the_stop_signal() -> None:
    hook = {"preStop": {"sleep": {"seconds": 8}}}

    async def story(world: World) -> None:
        await world.create(containers=[{"name": "main", "lifecycle": hook}], terminationGracePeriodSeconds=8)
        await world.phase("Running")
        await world.client.delete(PODS, "p", NS, DeleteOptions(grace_period_seconds=3))
        begun = world.clock.monotonic()
        await world.gone()
        asked, killed = (at - begun for at, _, _ in world.machine.signals)
        assert 2.9 < asked < 3.5
        assert 4.9 < killed < 5.5

    told(story, scripted(main=Run(None, on_term=None)))


def test_sidecars_are_stopped_after_the_main_containers_of_a_deleted_pod() -> None:
    async def story(world: World) -> None:
        await world.create(initContainers=[{"name": "side", "restartPolicy": "Always"}])
        await world.phase("Running")
        await world.client.delete(PODS, "p", NS)
        await world.gone()
        assert [key.container for _, key, _ in world.machine.signals] == ["main", "side"]

    told(story, scripted(side=Run(None), main=Run(None, on_term=3.0)))


def test_a_pod_that_is_active_for_too_long_fails_with_deadline_exceeded() -> None:
    async def story(world: World) -> None:
        await world.create(activeDeadlineSeconds=60, terminationGracePeriodSeconds=5)
        status = await world.phase("Failed")
        assert 60 <= world.clock.monotonic() < 70
        assert status["reason"] == "DeadlineExceeded"
        assert status["message"] == "Pod was active on the node longer than the specified deadline"
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137

    told(story, scripted(main=Run(None, on_term=None)))


def test_a_deadline_of_a_second_lasts_a_whole_second() -> None:
    async def story(world: World) -> None:
        await world.clock.sleep(0.9 - world.clock.now().timestamp() % 1)
        begun = world.clock.monotonic()
        await world.create(activeDeadlineSeconds=1, terminationGracePeriodSeconds=1)
        await world.phase("Failed")
        assert world.clock.monotonic() - begun >= 1

    told(story, scripted(main=Run(None)))


def test_a_pod_that_somebody_else_calls_failed_is_stopped_and_stays_failed() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.phase("Running")
        patch = {"status": {"phase": "Failed", "reason": "NodeLost"}}
        await world.client.patch(PODS, "p", patch, NS, subresource="status")
        await world.clock.sleep(5)
        assert world.machine.running == []
        assert (await world.status())["reason"] == "NodeLost"

    told(story, scripted(main=Run(None)))
