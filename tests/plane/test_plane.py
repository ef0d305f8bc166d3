"""A plane in memory: what runs in it, how it starts and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.controllers import CONTROLLERS
from longshore.plane.plane import Plane
from longshore.store import Key
from longshore.testing import Run, ScriptedNode
from longshore.testing.world import World

JOBS, PODS = ("batch/v1", "Job"), ("v1", "Pod")


def a_plane(clock: VirtualClock, **more: Any) -> Plane:
    return World(clock, **more).plane


def played(story: Callable[[VirtualClock], Awaitable[None]]) -> None:
    virtual.run(story)


def a_job(name: str = "j", **spec: Any) -> Obj:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


async def ended(plane: Plane, name: str = "j") -> list[str]:
    """The types of the Job's conditions."""
    job = await plane.client.get(JOBS, name, "default")
    return [c["type"] for c in (job.get("status") or {}).get("conditions") or ()]


def test_a_job_runs_on_a_scripted_node_to_its_end() -> None:
    async def story(clock: VirtualClock) -> None:
        plane = a_plane(clock)
        await plane.prepare()
        node = ScriptedNode(clock, lambda container: Run(seconds=20.0))
        async with plane.running(node):
            await clock.sleep(1)
            await plane.client.create(JOBS, a_job(completions=3, parallelism=2), "default")
            await clock.sleep(30)
            assert await ended(plane) == []
            await clock.sleep(30)
            assert await ended(plane) == ["SuccessCriteriaMet", "Complete"]
        assert len(node.machine.started) == 3

    played(story)


def test_without_a_node_pods_wait_and_without_controllers_nothing_is_made() -> None:
    async def story(clock: VirtualClock) -> None:
        plane = a_plane(clock)
        await plane.prepare()
        async with plane.running():
            await clock.sleep(1)
            await plane.client.create(JOBS, a_job(), "default")
            await clock.sleep(5)
            (pod,) = (await plane.client.list(PODS, "default")).items
            assert pod["status"]["phase"] == "Pending"
        bare = a_plane(clock, controllers=(), scheduler=False)
        await bare.prepare()
        async with bare.running():
            await bare.client.create(JOBS, a_job(), "default")
            await clock.sleep(5)
            assert (await bare.client.list(PODS, "default")).items == []

    played(story)


def test_nothing_is_written_after_the_end_and_the_node_ends_first() -> None:
    async def story(clock: VirtualClock) -> None:
        plane = a_plane(clock)
        await plane.prepare()
        left: list[str] = []

        async def node(of: Plane, ready: asyncio.Event) -> None:
            ready.set()
            try:
                await clock.sleep(1e6)
            finally:
                left.extend(
                    task.get_name() for task in asyncio.all_tasks() if "controller" in task.get_name()
                )

        async with plane.running(node):
            await clock.sleep(5)
        assert len(left) == len(CONTROLLERS)
        written = plane.api.store.revision
        await clock.sleep(100)
        assert plane.api.store.revision == written

    played(story)


def test_a_node_that_fails_is_started_again_and_finds_what_runs() -> None:
    async def story(clock: VirtualClock) -> None:
        plane = a_plane(clock)
        await plane.prepare()
        node = ScriptedNode(clock, lambda container: Run(seconds=60.0))
        starts = 0

        async def fragile(of: Plane, ready: asyncio.Event) -> None:
            nonlocal starts
            starts += 1
            if starts > 1:
                await node(of, ready)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(node(of, ready))
                await clock.sleep(20)
                raise RuntimeError("it fails once")

        async with plane.running(fragile):
            await clock.sleep(1)
            await plane.client.create(JOBS, a_job(), "default")
            await clock.sleep(90)
            assert await ended(plane) == ["SuccessCriteriaMet", "Complete"]
        assert starts == 2
        assert [*node.machine.started.values()] == [1]

    played(story)


def test_a_node_that_never_gets_ready_does_not_hold_up_the_others() -> None:
    async def story(clock: VirtualClock) -> None:
        plane = a_plane(clock)
        await plane.prepare()

        async def never(of: Plane, ready: asyncio.Event) -> None:
            await clock.sleep(1e6)

        async with plane.running(never):
            assert clock.monotonic() == 10.0

    played(story)


def test_each_resource_is_watched_once_for_all_of_the_plane() -> None:
    async def story(clock: VirtualClock) -> None:
        plane = a_plane(clock)
        await plane.prepare()
        watched: list[str] = []
        watch = plane.api.watch

        async def counted(call: Any) -> Any:
            watched.append(f"{call.resource.plural} {sorted(call.query)}")
            return await watch(call)

        plane.api.watch = counted  # type: ignore[method-assign]
        async with plane.running(ScriptedNode(clock)):
            await clock.sleep(5)
        pods = [each for each in watched if each.startswith("pods ") and "fieldSelector" not in each]
        assert len(pods) == 1

    played(story)


def test_events_are_forgotten_again_after_one_that_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    async def story(clock: VirtualClock) -> None:
        plane = a_plane(clock, controllers=(), scheduler=False)
        await plane.prepare()
        store, key = plane.api.store, Key("events", "default", "odd")
        about = {
            "metadata": {"name": "good", "namespace": "default"},
            "involvedObject": {"namespace": "default"},
        }
        async with plane.running():
            await plane.client.create(("v1", "Event"), about, "default")
            odd = {
                "metadata": {"name": "odd", "namespace": "default", "uid": "u", "creationTimestamp": "never"}
            }
            await store.stage(key, odd).done()
            await clock.sleep(2 * 3600)
            assert "the expiry of events failed" in caplog.text
            await store.stage_delete(key, odd).done()
            await clock.sleep(3600)
            assert not (await plane.client.list(("v1", "Event"), "default")).items

    played(story)
