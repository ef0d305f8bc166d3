"""Ephemeral containers (`kubectl debug`) run beside the others, once, and never change how a pod ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client.protocol import PatchType
from longshore.machinery.time import virtual
from longshore.node.runtime import Container
from longshore.scripts.runs import Run, StartFault
from longshore.testing.scripted_runtime import RunScript
from support.node_world import NS, PODS, World, a_world, agent_of, scripted, told

LONG = Run(100.0)


async def debug(world: World, name: str = "look", **more: Any) -> Obj:
    """As kubectl does it: a strategic merge patch of the subresource."""
    container = {"name": name, "image": "i", "command": ["c"], **more}
    patch = {"spec": {"ephemeralContainers": [container]}}
    return await world.client.patch(
        PODS, "p", patch, NS, type=PatchType.STRATEGIC, subresource="ephemeralcontainers"
    )


async def report(world: World, name: str = "look") -> Obj:
    listed = (await world.status()).get("ephemeralContainerStatuses") or ()
    return next((entry for entry in listed if entry["name"] == name), {})


def seen(story: RunScript, into: list[Container]) -> RunScript:
    def script(container: Container) -> Run:
        into.append(container)
        return story(container)

    return script


def reaches(world: World, state: str, name: str = "look") -> Callable[[], Any]:
    async def there() -> Obj | None:
        return (await report(world, name)).get("state", {}).get(state)

    return there


def test_one_that_is_added_to_a_running_pod_is_started_once() -> None:
    async def story(world: World) -> None:
        await world.create(restart="Always")
        await world.phase("Running")
        await debug(world)
        ended = await world.until(reaches(world, "terminated"))
        assert ended["exitCode"] == 3
        entry = await report(world)
        assert (entry["ready"], entry["restartCount"], "started" in entry) == (False, 0, False)
        assert entry["containerID"].startswith("process://")
        await debug(world, "again")
        await world.until(reaches(world, "terminated", "again"))
        await world.clock.sleep(700)
        assert [k.container for k in world.machine.started] == ["main", "look", "again"]
        assert (await world.status())["phase"] == "Running"

    told(story, scripted(main=Run(None), look=Run(2.0, 3), again=Run(0.0)))


def test_one_that_still_runs_is_stopped_when_the_pod_has_ended() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.phase("Running")
        await debug(world)
        await world.until(reaches(world, "running"))
        status = await world.phase("Succeeded")
        assert status["ephemeralContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 143

    told(story, scripted(main=Run(5.0), look=Run(None)))


def test_one_starts_while_init_containers_still_run() -> None:
    async def story(world: World) -> None:
        await world.create(initContainers=[{"name": "one"}])
        await world.until(lambda: world.get())
        await world.clock.sleep(1)
        await debug(world)
        await world.until(reaches(world, "running"))
        assert [k.container for k in world.machine.started] == ["one", "look"]
        assert (await world.status())["phase"] == "Pending"
        await world.phase("Succeeded")
        assert [k.container for k in world.machine.started] == ["one", "look", "main"]

    told(story, scripted(one=Run(10.0), look=Run(None)))


def test_one_that_cannot_start_waits_and_does_not_fail_its_pod() -> None:
    async def story(world: World) -> None:
        after = {"longshore.dev/fail-unstartable-after": "5s"}
        await world.create(annotations=after)
        await world.phase("Running")
        await debug(world)
        waiting = await world.until(reaches(world, "waiting"))
        assert waiting == {"reason": "RunContainerError", "message": "no such command"}
        await world.phase("Succeeded")

    broken = Run(fails=StartFault("RunContainerError", "no such command"))
    told(story, scripted(main=LONG, look=broken))


def test_a_target_is_the_run_of_the_named_container() -> None:
    started: list[Container] = []

    async def story(world: World) -> None:
        await world.create()
        await world.phase("Running")
        await debug(world, targetContainerName="main")
        await world.until(reaches(world, "running"))
        uid = started[0].key.pod_uid
        assert started[-1].target == (uid, "main", 0)

    told(story, seen(scripted(main=LONG, look=LONG), started))


def test_a_target_that_does_not_run_is_said_in_a_kubelets_words() -> None:
    async def story(world: World) -> None:
        await world.create(containers=[{"name": "main"}, {"name": "short"}])
        await world.phase("Running")
        await world.clock.sleep(2)
        await debug(world, targetContainerName="short")
        waiting = await world.until(reaches(world, "waiting"))
        assert waiting["reason"] == "CreateContainerConfigError"
        assert waiting["message"] == "unable to find target container short"

    told(story, scripted(main=LONG, short=Run(0.5)))


def test_one_is_found_again_after_a_restart_and_not_run_twice() -> None:
    async def play(world: World) -> None:
        async with agent_of(world):
            await world.create()
            await world.phase("Running")
            await debug(world)
            await debug(world, "short")
            await world.until(reaches(world, "running"))
            await world.until(reaches(world, "terminated", "short"))
        async with agent_of(world):
            await world.phase("Succeeded")
            assert [k.container for k in world.machine.started] == ["main", "look", "short"]
            assert (await report(world, "short"))["state"]["terminated"]["exitCode"] == 4

    async def run(clock: virtual.VirtualClock) -> None:
        async with a_world(clock, scripted(main=LONG, look=Run(None), short=Run(1.0, 4))) as world:
            await play(world)

    virtual.run(run)


def test_the_subresource_refuses_what_kubernetes_refuses() -> None:
    async def story(world: World) -> None:
        await world.create()
        await world.phase("Running")
        with pytest.raises(StatusError, match=r"ephemeralContainers\[0\]\.targetContainerName: Not found"):
            await debug(world, targetContainerName="none")
        with pytest.raises(StatusError, match="cannot be set for an Ephemeral Container"):
            await debug(world, ports=[{"containerPort": 80}])

    told(story, scripted(main=LONG))
