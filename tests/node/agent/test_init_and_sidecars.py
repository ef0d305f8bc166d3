"""Init containers run one by one; sidecars go on beside the others and leave last."""

from __future__ import annotations

from longshore.testing.scripted_runtime import Exec, Run
from support.node_world import World, scripted, told

SIDECAR = {"name": "side", "restartPolicy": "Always"}


def order(world: World) -> list[str]:
    return [key.container for key in world.machine.started]


def test_init_containers_run_in_order_before_the_main_ones() -> None:
    async def story(world: World) -> None:
        await world.create(initContainers=[{"name": "one"}, {"name": "two"}])
        await world.clock.sleep(1.5)
        status = await world.status()
        assert status["phase"] == "Pending"
        assert order(world) == ["one", "two"]
        (initialized,) = [c for c in status["conditions"] if c["type"] == "Initialized"]
        assert initialized["reason"] == "ContainersNotInitialized"
        assert initialized["message"] == "containers with incomplete status: [two]"
        assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"
        assert status["initContainerStatuses"][0]["ready"] is True
        status = await world.phase("Succeeded")
        assert order(world) == ["one", "two", "main"]
        assert [c["state"]["terminated"]["exitCode"] for c in status["initContainerStatuses"]] == [0, 0]

    told(story, scripted(one=Run(1.0), two=Run(1.0)))


def test_an_init_container_that_fails_fails_the_pod_where_nothing_restarts() -> None:
    async def story(world: World) -> None:
        await world.create(initContainers=[{"name": "one"}, {"name": "two"}])
        status = await world.phase("Failed")
        assert order(world) == ["one"]
        assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 9
        assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"

    told(story, scripted(one=Run(1.0, 9)))


def test_an_init_container_that_fails_is_tried_again_where_the_policy_says_so() -> None:
    async def story(world: World) -> None:
        await world.create(restart="OnFailure", initContainers=[{"name": "one"}])
        status = await world.phase("Succeeded")
        assert order(world) == ["one", "one", "main"]
        assert status["initContainerStatuses"][0]["restartCount"] == 1

    told(story, scripted(one=[Run(1.0, 9), Run(1.0)]))


def test_init_containers_do_not_run_again_when_a_main_container_restarts() -> None:
    async def story(world: World) -> None:
        await world.create(restart="OnFailure", initContainers=[{"name": "one"}])
        await world.phase("Succeeded")
        assert order(world) == ["one", "main", "main"]

    told(story, scripted(main=[Run(1.0, 1), Run(1.0)]))


def test_a_sidecar_starts_first_and_is_stopped_when_the_main_containers_have_ended() -> None:
    async def story(world: World) -> None:
        await world.create(initContainers=[SIDECAR])
        status = await world.phase("Running")
        assert order(world) == ["side", "main"]
        assert status["initContainerStatuses"][0]["ready"] is True
        assert status["initContainerStatuses"][0]["started"] is True
        status = await world.phase("Succeeded")
        assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
        assert world.machine.running == []

    told(story, scripted(side=Run(None, on_term=1.0), main=Run(10.0)))


def test_the_pod_is_not_over_as_long_as_a_sidecar_stops() -> None:
    async def story(world: World) -> None:
        await world.create(initContainers=[SIDECAR])
        await world.clock.sleep(3)
        assert (await world.status())["phase"] == "Running"
        await world.phase("Succeeded")
        assert world.clock.monotonic() > 6

    told(story, scripted(side=Run(None, on_term=5.0), main=Run(1.0)))


def test_sidecars_leave_in_the_reverse_of_their_order() -> None:
    async def story(world: World) -> None:
        inits = [{"name": name, "restartPolicy": "Always"} for name in ("first", "second", "third")]
        await world.create(initContainers=inits)
        await world.phase("Succeeded")
        assert [key.container for _, key, _ in world.machine.signals] == ["third", "second", "first"]

    never = Run(None, on_term=1.0)
    told(story, scripted(first=never, second=never, third=never, main=Run(1.0)))


def test_what_comes_after_a_sidecar_waits_for_its_startup_probe() -> None:
    async def story(world: World) -> None:
        world.machine.execs = lambda key, command: Exec(0 if world.clock.monotonic() > 7 else 1)
        probe = {"exec": {"command": ["up"]}, "periodSeconds": 1, "failureThreshold": 30}
        await world.create(initContainers=[{**SIDECAR, "startupProbe": probe}])
        await world.clock.sleep(5)
        assert order(world) == ["side"]
        await world.phase("Running")
        assert order(world) == ["side", "main"]

    told(story, scripted(side=Run(None), main=Run(None)))


def test_a_sidecar_that_ends_is_started_again_although_the_pod_never_restarts() -> None:
    async def story(world: World) -> None:
        await world.create(initContainers=[SIDECAR])
        status = await world.phase("Succeeded")
        assert status["initContainerStatuses"][0]["restartCount"] >= 1

    told(story, scripted(side=[Run(2.0, 1), Run(None)], main=Run(10.0)))
