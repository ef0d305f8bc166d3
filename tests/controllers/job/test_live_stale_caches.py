"""A cache that lags behind the controller's own writes leads to no second pod and no second count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controllers.job.job_stage import NS, PODS, Stage, Troubled, play, refused
from longshore.api import errors
from longshore.client import Client, WatchEvent
from longshore.client.ask import Ask, Page
from longshore.client.source import Watching
from longshore.controllers.job.spec import FINALIZER


class Lagging(Troubled):
    """Shows the changes of one resource late."""

    late = ""
    seconds = 0.0

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        async with super()._events(ask) as events:
            yield Watching(self._delayed(ask.resource.plural, events))

    async def _delayed(self, plural: str, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            if plural == self.late:
                await asyncio.sleep(self.seconds)
            yield event


def lagging(stage: Stage, late: str, seconds: float) -> Lagging:
    client = Lagging(stage.client)
    client.late, client.seconds = late, seconds
    stage.theirs = client
    return client


def test_jobs_seen_late_are_finished_once() -> None:
    async def scene(stage: Stage) -> None:
        await _finish_one(stage, "jobs")

    play(scene, controller=False)


def test_pods_seen_late_are_counted_once() -> None:
    async def scene(stage: Stage) -> None:
        await _finish_one(stage, "pods")

    play(scene, controller=False)


async def _finish_one(stage: Stage, late: str) -> None:
    client = lagging(stage, late, 0.7)
    await stage.start()
    await stage.job(completions=2, parallelism=1)
    for _ in range(2):
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
    await stage.until_condition("Complete")
    await stage.quiet(10)
    status = await stage.status()
    assert (status["succeeded"], status.get("failed")) == (2, None)
    assert len(await stage.pods()) == 2
    assert client.asked["create pods"] == 2
    completed = [e for e in await stage.events() if "Completed" in e]
    assert completed == ["Normal Completed: Job completed"]


def test_a_job_whose_last_pod_succeeded_unseen_when_it_was_suspended_is_complete() -> None:
    async def scene(stage: Stage) -> None:
        client = lagging(stage, "pods", 0.0)
        await stage.start()
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.until_status(active=1)
        client.seconds = 3.0
        await stage.end(pod, "Succeeded")
        await stage.patch_job({"spec": {"suspend": True}})
        await stage.until_condition("Complete")
        assert (await stage.status())["succeeded"] == 1

    play(scene, controller=False)


def test_a_cache_that_stands_still_is_waited_for() -> None:
    async def scene(stage: Stage) -> None:
        client = lagging(stage, "pods", 0.0)
        await stage.start()
        await stage.job(completions=4, parallelism=1)
        (pod,) = await stage.until_live(1)
        await stage.quiet()
        client.seconds = 20.0
        await stage.end(pod, "Succeeded")
        await stage.patch_job({"spec": {"parallelism": 2}})
        await stage.until_live(1)
        await stage.patch_job({"metadata": {"annotations": {"reason": "to look at the Job"}}})
        await stage.quiet(15)
        # The new pod is not seen yet; nothing else may be done for this Job until it is.
        assert client.asked["create pods"] == 2
        skipped: Any = stage.registry.counter("job_controller_stale_sync_skips_total", "")
        assert skipped.value("", "pods") > 0
        client.seconds = 0.0
        await stage.until_status(succeeded=1, active=2, seconds=120)
        assert client.asked["create pods"] == 3

    play(scene, controller=False)


def test_a_pod_that_vanished_is_counted_once_though_the_cache_still_shows_it() -> None:
    """The answer to the removal of its finalizer was lost; the second try finds no pod."""

    async def scene(stage: Stage) -> None:
        await stage.job(completions=2, parallelism=1)
        (pod,) = await stage.until_live(1)
        await stage.until_status(active=1)

        def lost(what: str, ask: Ask) -> None:
            if what == "patch pods":
                raise refused(404, "NotFound")

        stage.theirs.trouble = lost
        await stage.end(pod, "Failed")
        await stage.until_status(failed=1)
        for parallelism in (2, 1, 2):  # reasons to look at the Job; its back-off is not over yet
            await stage.patch_job({"spec": {"parallelism": parallelism}})
            await stage.quiet(1)
        assert (await stage.status())["failed"] == 1

    play(scene)


@pytest.mark.parametrize(("phase", "counts"), [("Succeeded", (2, 0)), ("Failed", (1, 1))])
def test_a_pod_that_ended_unseen_before_its_job_had_enough_counts_as_what_it_was(
    phase: str, counts: tuple[int, int]
) -> None:
    """It is not taken for one of those that are killed then, and count as nothing."""

    async def scene(stage: Stage) -> None:
        lagging(stage, "pods", 0.0)
        await stage.start()
        policy = {"rules": [{"succeededCount": 1}]}
        await stage.job(completions=2, parallelism=2, completionMode="Indexed", successPolicy=policy)
        first, second = await stage.until_live(2)
        await stage.until_status(active=2)
        assert isinstance(stage.theirs, Lagging)
        stage.theirs.seconds = 3.0
        await stage.end(first, "Succeeded")
        await stage.end(second, phase)
        await stage.until_condition("Complete", seconds=120)
        status = await stage.status()
        assert (status["succeeded"], status.get("failed", 0)) == counts

    play(scene, controller=False)


class Breaking(Troubled):
    """Loses the watch of pods when a pod was patched, and shows them again only once it is `mended`."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.mended = asyncio.Event()

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        async with super()._events(ask) as events:
            yield Watching(self._until_broken(events)) if ask.resource.plural == "pods" else events

    async def _until_broken(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            if self.asked["patch pods"] and not self.mended.is_set():
                await self.mended.wait()
                raise refused(410, "Expired")
            yield event


def test_a_pod_that_was_adopted_and_vanished_unseen_is_replaced() -> None:
    """The cache never showed whose it was."""

    async def scene(stage: Stage) -> None:
        client = stage.theirs = Breaking(stage.client)
        await stage.start()
        labels, containers = {"app": "x"}, [{"name": "main", "image": "i"}]
        pod = {"metadata": {"name": "mine", "labels": labels}, "spec": {"containers": containers}}
        await stage.client.create(PODS, pod, NS)
        template = {
            "metadata": {"labels": labels},
            "spec": {"restartPolicy": "Never", "containers": containers},
        }
        await stage.job(manualSelector=True, selector={"matchLabels": labels}, template=template)
        await stage.until_status(active=1)
        await stage.strategic(pod, {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}})
        await stage.delete_pod(pod, grace=0)
        client.mended.set()
        (replacement,) = await stage.until_live(1)
        assert replacement["metadata"]["name"] != "mine"

    play(scene, controller=False)


class OldPods(Troubled):
    """Answers the first list of pods from an older moment, and tells what changed since only much later."""

    revision = 0
    seconds = 5.0

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        if ask.resource.plural == "pods":
            if "sendInitialEvents" in ask.query:
                raise errors.bad_request("initial events are not to be had here")
            await asyncio.sleep(self.seconds)
        async with super()._events(ask) as events:
            yield events

    async def _page(self, ask: Ask) -> Page:
        asks_for_all = "limit" not in ask.query or ask.query["limit"] != "1"
        if ask.resource.plural == "pods" and self.revision and asks_for_all:
            then, self.revision = self.revision, 0
            old = {"resourceVersion": str(then), "resourceVersionMatch": "Exact"}
            return await super()._page(Ask("list", ask.resource, ask.namespace, query=old))
        return await super()._page(ask)


def test_a_pod_that_waits_to_be_counted_is_counted_once_by_a_controller_that_was_shown_an_old_list() -> None:
    """The old list lacks the pod that the status of the Job names."""

    async def scene(stage: Stage) -> None:
        before = stage.client.api.store.revision

        def dies(what: str, ask: Ask) -> None:
            if what == "patch pods":
                raise refused()

        await stage.job(completions=1, parallelism=1)
        (pod,) = await stage.until_live(1)
        stage.theirs.trouble = dies
        await stage.end(pod, "Failed")
        await stage.until(lambda: _uncounted(stage))
        await _taken_over(stage, before)
        await stage.until_status(failed=1)
        await stage.quiet(10)
        assert (await stage.status())["failed"] == 1

    play(scene)


def test_a_pod_that_was_counted_is_not_counted_again_by_a_controller_that_was_shown_an_old_list() -> None:
    """The old list still has the pod, ended and with its finalizer."""

    async def scene(stage: Stage) -> None:
        moments: list[int] = []

        def remember(what: str, ask: Ask) -> None:
            if what == "patch pods":
                moments.append(stage.client.api.store.revision)

        await stage.job(completions=1, parallelism=1)
        (pod,) = await stage.until_live(1)
        stage.theirs.trouble = remember
        await stage.end(pod, "Failed")
        await stage.until_status(failed=1)
        await _taken_over(stage, moments[0])
        await stage.quiet(10)
        assert (await stage.status())["failed"] == 1

    play(scene)


async def _uncounted(stage: Stage) -> Any:
    return (await stage.status()).get("uncountedTerminatedPods")


async def _taken_over(stage: Stage, revision: int) -> None:
    """Another controller comes, which sees pods as they were at this revision."""
    await stage.stop()
    client = OldPods(stage.client)
    client.revision = revision
    stage.theirs = client
    await stage.start()
