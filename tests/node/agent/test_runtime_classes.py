"""A RuntimeClass leads to the engine that its handler names."""

from __future__ import annotations

from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.scripted_runtime import Run, ScriptedMachine, ScriptedRuntime
from support.node_world import World, a_world, agent_of

CLASSES = ("node.k8s.io/v1", "RuntimeClass")


def two_engines(world: World) -> ScriptedMachine:
    """Gives the world a second engine; the machine of that one."""
    other = ScriptedMachine(world.clock, lambda container: Run(1.0))
    world.runtimes = {
        "process": ScriptedRuntime(world.machine),
        "podman": ScriptedRuntime(other, name="podman"),
    }
    return other


def test_a_pod_of_a_class_runs_in_the_engine_of_its_handler() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock) as world:
            other = two_engines(world)
            await world.client.create(CLASSES, {"metadata": {"name": "sandbox"}, "handler": "podman"})
            async with agent_of(world):
                await world.create(runtimeClassName="sandbox")
                status = await world.phase("Succeeded")
                ended = status["containerStatuses"][0]["state"]["terminated"]
                assert ended["containerID"].startswith("podman://")
                assert len(other.started) == 1
                assert not world.machine.started

    virtual.run(play)


def test_a_pod_whose_class_names_no_engine_waits_and_says_so() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock) as world:
            two_engines(world)
            await world.client.create(CLASSES, {"metadata": {"name": "safe"}, "handler": "gvisor"})
            async with agent_of(world):
                await world.create(runtimeClassName="safe")
                told = (
                    "FailedCreatePodSandBox",
                    'RuntimeClass "safe" asks for a runtime that this node does not have',
                )
                assert told in await world.events()
                assert (await world.status())["phase"] == "Pending"

    virtual.run(play)


def test_a_pod_starts_when_its_engine_is_there() -> None:
    async def play(clock: VirtualClock) -> None:
        async with a_world(clock) as world:
            two_engines(world)
            await world.client.create(CLASSES, {"metadata": {"name": "late"}, "handler": "gvisor"})
            async with agent_of(world):
                await world.create(runtimeClassName="late")
                await world.clock.sleep(5)
                await world.client.delete(CLASSES, "late")
                await world.client.create(CLASSES, {"metadata": {"name": "late"}, "handler": "podman"})
                await world.phase("Succeeded")

    virtual.run(play)
