"""Whatever is raised, and wherever: only what really happened stays expected."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from controllers.job.job_scene import a_job as a_bare_job
from controllers.job.job_scene import sync
from controllers.job.job_stage import JOBS, NS, PODS, Stage, Troubled, play
from longshore.api import errors
from longshore.api.types import Obj
from longshore.client import CredentialsError, TimedOut, Unreachable
from longshore.client.ask import Ask
from longshore.controllers.job.act import Act
from longshore.controllers.job.memory import JobMemory
from longshore.controllers.job.spec import FINALIZER
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.informers.cache import Cache

KEY = (NS, "j")
LABELS = {"job": "j"}


class Raising(Troubled):
    """Raises at one of its requests, before or after the server has done it."""

    def raise_at(self, number: int, error: BaseException, *, done: bool) -> None:
        self._number, self._error, self._done = number, error, done

    _number = 0
    _error: BaseException
    _done = False

    @property
    def raised(self) -> bool:
        return self._number < 0

    async def _one(self, ask: Ask) -> Obj:
        await asyncio.sleep(0)
        self._number -= 1
        if self._number != 0:
            return await super()._one(ask)
        self._number = -1
        if self._done:
            await super()._one(ask)
        raise self._error


def body(name: str) -> Obj:
    meta = {"name": name, "labels": LABELS, "finalizers": [FINALIZER]}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}}


class Scene:
    """One Act of a Job with five pods, on a client that raises."""

    def __init__(self, stage: Stage, job: Obj, pods: list[Obj]) -> None:
        self.stage, self.pods = stage, pods
        self.client = Raising(stage.client)
        self.memory = JobMemory(stage.clock, Cache(), Cache())
        recorder = Recorder(stage.client, "job", clock=stage.clock, rng=random.Random(1))
        self.act = Act(self.client, recorder, self.memory, KEY, job)
        self.plan = sync(a_bare_job()).plan

    async def create(self) -> None:
        await self.act.change_pods(replace(self.plan, create=[body(f"new-{n}") for n in range(5)]))

    async def release(self) -> None:
        await self.act.change_pods(replace(self.plan, create=(), release=self.pods))

    async def strip(self) -> None:
        try:
            await self.act.strip(self.pods)
        finally:
            await self.act.durable()

    async def check(self) -> None:
        """As many creations and deletions are open as there were, at most; and nothing of a pod that kept
        its finalizer."""
        now = {pod["metadata"]["name"]: pod for pod in await self.stage.pods()}
        before = {pod["metadata"]["name"] for pod in self.pods}
        created, deletions = self.memory.expectations.pending(KEY) or (0, 0)
        assert created <= len(now.keys() - before)
        assert deletions <= len(before - now.keys())
        kept = {
            p["metadata"]["uid"] for p in now.values() if FINALIZER in p["metadata"].get("finalizers", ())
        }
        assert not kept & self.memory.going.uids(KEY)


Doing = Callable[[Scene], Coroutine[Any, Any, None]]
EACH = pytest.mark.parametrize("doing", [Scene.create, Scene.release, Scene.strip])


async def tried(stage: Stage, doing: Doing, disturb: Callable[[Scene, asyncio.Task[None]], Any]) -> bool:
    """Whether it was disturbed; else it came to its end before."""
    await stage.client.delete_collection(PODS, NS)
    for pod in await stage.pods():
        await stage.strategic(pod, {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}})
    assert await stage.pods() == []
    pods = [await stage.client.create(PODS, body(f"old-{n}"), NS) for n in range(5)]
    scene = Scene(stage, await stage.client.get(JOBS, "j", NS), pods)
    task = asyncio.create_task(doing(scene))
    disturbed = await disturb(scene, task)
    await asyncio.gather(task, return_exceptions=True)
    await scene.check()
    return bool(disturbed)


@EACH
@pytest.mark.parametrize("done", [False, True], ids=["before the write", "after the write"])
@pytest.mark.parametrize("error", [RuntimeError, CredentialsError, asyncio.CancelledError])
def test_raised_by_any_request(doing: Doing, done: bool, error: type[BaseException]) -> None:
    async def main(stage: Stage) -> None:
        await stage.job(suspend=True)
        for number in range(1, 99):

            async def raising(scene: Scene, task: asyncio.Task[None], number: int = number) -> bool:
                scene.client.raise_at(number, error("made to fail"), done=done)
                await asyncio.wait([task])
                return scene.client.raised

            if not await tried(stage, doing, raising):
                assert number > 5
                return
        raise AssertionError("it never comes to its end")

    play(main, controller=False)


@EACH
def test_cancelled_at_any_moment(doing: Doing) -> None:
    async def main(stage: Stage) -> None:
        await stage.job(suspend=True)
        for moment in range(300):

            async def cancelled(scene: Scene, task: asyncio.Task[None], moment: int = moment) -> bool:
                for _ in range(moment):
                    await asyncio.sleep(0)
                return task.cancel()

            if not await tried(stage, doing, cancelled):
                assert moment > 3
                return
        raise AssertionError("it never comes to its end")

    play(main, controller=False)


@pytest.mark.parametrize(
    "error",
    [
        CredentialsError("exec plugin 'login' of the kubeconfig failed"),
        errors.unauthorized(),
        TimedOut("no answer in time"),
    ],
    ids=["no credentials", "401", "no answer"],
)
def test_what_is_refused_for_a_while_stops_no_job(error: Exception) -> None:
    async def scene(stage: Stage) -> None:
        def refused(what: str, ask: Ask) -> None:
            raise error

        await stage.job(completions=4, parallelism=4)
        first = (await stage.until_live(4))[0]
        stage.theirs.trouble = refused
        await stage.patch_job({"spec": {"parallelism": 2}})
        await stage.end(first, "Succeeded")
        await stage.quiet(30)
        stage.theirs.trouble = lambda what, ask: None
        await stage.until_status(succeeded=1, active=2, seconds=60)

    play(scene)


def test_missing_credentials_are_a_server_that_cannot_be_reached() -> None:
    assert issubclass(CredentialsError, Unreachable)
