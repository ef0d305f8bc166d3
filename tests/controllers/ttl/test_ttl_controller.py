"""The TTL controller at work on an API in memory and the virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

from longshore.api.types import Obj
from longshore.client import DeleteOptions
from longshore.controllers import ttl
from support import world
from support.world import World

T = TypeVar("T")
JOBS = ("batch/v1", "Job")
TEMPLATE: Obj = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
METRIC = "ttl_after_finished_controller_job_deletion_duration_seconds"


class Scene(World):
    namespace = "default"

    async def job(self, name: str = "j", *, ttl: int | None = None, **meta: Any) -> None:
        spec: Obj = {"template": TEMPLATE}
        if ttl is not None:
            spec["ttlSecondsAfterFinished"] = ttl
        await self.client.create(JOBS, {"metadata": {"name": name, **meta}, "spec": spec}, "default")

    async def finish(self, name: str = "j", how: str = "Complete", after: float = 0) -> None:
        at = (self.clock.now() + timedelta(seconds=after)).strftime("%Y-%m-%dT%H:%M:%SZ")
        interim = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[how]
        status: Obj = {
            "startTime": at,
            "conditions": [
                {"type": kind, "status": "True", "lastProbeTime": at, "lastTransitionTime": at}
                for kind in (interim, how)
            ],
        }
        if how == "Complete":
            status["completionTime"] = at
        await self.client.patch(JOBS, name, {"status": status}, "default", subresource="status")

    async def get(self, name: str = "j") -> Obj | None:
        return await self.find(JOBS, name)

    async def deleted_at(self, name: str = "j", within: float = 86400) -> datetime | None:
        """When the Job was deleted, by the server's clock; None if it was not."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while True:
                    async with self.client.watch(JOBS, "default", fields=f"metadata.name={name}") as events:
                        async for event in events:
                            if "deletionTimestamp" in event.object["metadata"]:
                                return self.clock.now()
        return None


def play(script: Callable[[Scene], Awaitable[T]], **options: Any) -> T:
    async def whole(scene: Scene) -> T:
        scene.begin(ttl.run(scene.context(registry=scene.registry), **options))
        return await script(scene)

    return world.play(Scene, whole)


def test_a_finished_job_is_deleted_in_the_foreground_when_its_time_is_up() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=100)
        await scene.finish()
        begun = scene.clock.now()
        at = await scene.deleted_at()
        assert at is not None
        assert 100 <= (at - begun).total_seconds() < 101
        job = await scene.get()
        assert job is not None
        assert job["metadata"]["finalizers"] == ["foregroundDeletion"]
        await scene.clock.sleep(1)
        assert f"{METRIC}_count 1.0" in scene.registry.text().decode()

    play(script)


def test_a_ttl_of_zero_deletes_at_once() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=0)
        await scene.clock.sleep(60)
        assert await scene.deleted_at(within=10) is None
        await scene.finish(how="Failed")
        assert await scene.deleted_at(within=2) is not None

    play(script)


def test_a_ttl_set_after_the_end_counts_from_the_end() -> None:
    async def script(scene: Scene) -> None:
        await scene.job()
        await scene.finish()
        begun = scene.clock.now()
        await scene.clock.sleep(500)
        await scene.client.patch(JOBS, "j", {"spec": {"ttlSecondsAfterFinished": 600}}, "default")
        at = await scene.deleted_at()
        assert at is not None
        assert 600 <= (at - begun).total_seconds() < 601

    play(script)


def test_a_ttl_raised_or_removed_in_time_is_heeded() -> None:
    async def script(scene: Scene) -> None:
        for name, change in (("raised", 1000), ("removed", None)):
            await scene.job(name, ttl=100)
            await scene.finish(name)
            await scene.clock.sleep(50)
            await scene.client.patch(JOBS, name, {"spec": {"ttlSecondsAfterFinished": change}}, "default")
            assert await scene.deleted_at(name, within=500) is None
        assert await scene.deleted_at("raised", within=1000) is not None
        assert await scene.deleted_at("removed") is None

    play(script)


def test_outcomes_have_their_own_ttl() -> None:
    async def script(scene: Scene) -> None:
        annotations = {"longshore.dev/ttl-after-success": "1m", "longshore.dev/ttl-after-failure": "72h"}
        for name, how in (("good", "Complete"), ("bad", "Failed")):
            await scene.job(name, annotations=annotations)
            await scene.finish(name, how)
        assert await scene.deleted_at("good", within=62) is not None
        assert await scene.deleted_at("bad", within=71 * 3600) is None
        assert await scene.deleted_at("bad", within=2 * 3600) is not None

    play(script)


def test_an_annotation_that_cannot_be_read_keeps_the_job_and_is_told() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=0, annotations={"longshore.dev/ttl-after-success": "tomorrow"})
        await scene.finish()
        assert await scene.deleted_at() is None
        [event] = (await scene.client.list(("v1", "Event"), "default")).items
        assert (event["type"], event["reason"]) == ("Warning", "InvalidTTL")
        assert '"tomorrow" is neither a number of seconds nor a duration' in event["message"]

    play(script)


def test_without_a_mistake_there_are_no_events() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=1)
        await scene.finish()
        assert await scene.deleted_at() is not None
        await scene.clock.sleep(60)
        assert (await scene.client.list(("v1", "Event"))).items == []

    play(script)


def test_a_job_that_was_replaced_is_judged_by_itself() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=100)
        await scene.finish()
        await scene.clock.sleep(50)
        await scene.client.delete(JOBS, "j", "default", DeleteOptions(propagation="Background"))
        await scene.job(ttl=100)
        assert await scene.deleted_at() is None

    play(script)


def test_what_finished_while_nobody_looked_is_deleted_at_the_start() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=100)
        await scene.finish()
        await scene.clock.sleep(1000)
        scene.begin(ttl.run(scene.context()))
        assert await scene.deleted_at(within=2) is not None

    world.play(Scene, script)


def test_time_that_passed_while_the_machine_slept_counts() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=3600)
        await scene.finish()
        await scene.clock.sleep(10)
        scene.clock.jump(4000)
        assert await scene.deleted_at(within=60) is not None

    play(script)


def test_a_clock_set_back_only_postpones() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=100)
        await scene.finish()
        await scene.clock.sleep(10)
        scene.clock.jump(-1000)
        assert await scene.deleted_at(within=1000) is None
        assert await scene.deleted_at(within=120) is not None

    play(script)


def test_a_job_finished_in_the_future_is_deleted_later() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=100)
        await scene.finish(after=50)
        assert await scene.deleted_at(within=148) is None
        assert await scene.deleted_at(within=5) is not None

    play(script)


def test_it_can_look_after_one_namespace_alone() -> None:
    async def script(scene: Scene) -> None:
        await scene.job(ttl=0)
        await scene.finish()
        assert await scene.deleted_at() is None

    play(script, namespace="other")
