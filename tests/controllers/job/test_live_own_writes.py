"""What the controller wrote itself does not make it look again; what it left to do, it does all the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from controllers.job.job_stage import JOBS, NS, PODS, Stage, play
from longshore.controllers.job import controller
from longshore.controllers.job.ends import tracking
from longshore.controllers.job.memory import JobMemory
from longshore.controllers.job.pods import wanted
from longshore.store import DiskFull, Event
from longshore.store.journal import NoJournal

SYNCS = "job_controller_job_syncs_total"


def syncs(stage: Stage) -> float:
    counter = stage.registry.counter(SYNCS, "")
    return sum(counter._values.values())


def test_a_job_of_one_pod_is_looked_at_to_start_it_and_to_end_it() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.quiet()
        assert syncs(stage) == 1
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Complete")
        await stage.quiet()
        assert syncs(stage) == 2

    play(scene)


def test_pods_that_become_ready_together_are_told_with_one_write() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(completions=3, parallelism=3)
        pods = await stage.until_live(3)
        await stage.quiet()
        before = stage.theirs.asked["update jobs/status"]
        for pod in pods:
            ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            name = pod["metadata"]["name"]
            await stage.client.patch(("v1", "Pod"), name, {"status": ready}, "ns", subresource="status")
            await stage.clock.sleep(0.1)
        await stage.until_status(ready=3, seconds=2)
        await stage.quiet()
        assert stage.theirs.asked["update jobs/status"] == before + 1

    play(scene)


def test_nothing_is_remembered_of_a_job_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    memories: list[JobMemory] = []

    class Kept(JobMemory):
        def __init__(self, *caches: Any) -> None:
            super().__init__(*caches)
            memories.append(self)

    monkeypatch.setattr(controller, "JobMemory", Kept)

    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Complete")
        await stage.quiet()
        (memory,) = memories
        assert not memory.finished
        assert not memory.own_writes._written

    play(scene)


@pytest.mark.parametrize("indexed", [False, True])
def test_what_is_too_much_for_one_sync_is_done_by_the_next(
    indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "MAX_UNCOUNTED_PODS", 2)
    monkeypatch.setattr(wanted, "MAX_PODS_PER_SYNC", 2)
    more = {"completionMode": "Indexed"} if indexed else {}

    async def scene(stage: Stage) -> None:
        await stage.job(completions=5, parallelism=5, **more)
        pods = await stage.until_live(5, seconds=2)
        await stage.stop()
        for pod in pods:
            await stage.end(pod, "Succeeded")
        await stage.start()
        await stage.until_condition("Complete", seconds=2)

    play(scene)


def test_pods_to_be_removed_that_are_too_many_for_one_sync_are_removed_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wanted, "MAX_PODS_PER_SYNC", 2)

    async def scene(stage: Stage) -> None:
        await stage.job(completions=7, parallelism=7)
        await stage.until_live(7, seconds=2)
        await stage.patch_job({"spec": {"parallelism": 0}})
        await stage.until_live(0, seconds=2)

    play(scene)


def test_the_three_writes_of_the_end_are_told_one_by_one() -> None:
    async def scene(stage: Stage) -> None:
        stage.theirs = stage.client  # type: ignore[assignment] # as in a longshore
        await stage.start()
        seen: list[tuple[int, str]] = []
        since = (await stage.client.list(JOBS, NS)).resource_version
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Complete")
        async with (
            stage.client.watch(JOBS, NS, resource_version=since) as jobs,
            stage.client.watch(PODS, NS, resource_version=since) as pods,
        ):
            async for event in jobs:
                status = event.object.get("status") or {}
                if status.get("uncountedTerminatedPods"):
                    seen.append((int(event.resource_version), "listed"))
                    assert not status.get("succeeded")
                if "completionTime" in status:
                    assert status["succeeded"] == 1
                    seen.append((int(event.resource_version), "complete"))
                    break
            async for event in pods:
                if event.type == "MODIFIED" and not event.object["metadata"].get("finalizers"):
                    seen.append((int(event.resource_version), "let go"))
                    break
        assert [what for _, what in sorted(seen)] == ["listed", "let go", "complete"]

    play(scene, controller=False)


def counts(event: Event) -> bool:
    return event.key.storage == "batch/jobs" and b'"succeeded":["' in event.entry.raw


def creates(event: Event) -> bool:
    return event.key.storage == "pods" and event.type == "ADDED"


@pytest.mark.parametrize("lost", [counts, creates])
def test_writes_that_a_full_disk_takes_are_made_again(
    lost: Callable[[Event], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    append = NoJournal.append
    failed: list[int] = []

    def full_once(self: NoJournal, events: Sequence[Event]) -> None:
        if not failed and any(map(lost, events)):
            failed.append(len(events))
            raise DiskFull("no space")
        append(self, events)

    async def scene(stage: Stage) -> None:
        stage.theirs = stage.client  # type: ignore[assignment] # as in a longshore
        await stage.start()
        await stage.job(completions=2, parallelism=1)
        for _ in range(2):
            (pod,) = await stage.until_live(1, seconds=5)
            await stage.end(pod, "Succeeded")
            await stage.quiet()
        assert failed
        assert "Complete=True" in await stage.conditions()
        assert (await stage.status())["succeeded"] == 2
        assert len(await stage.pods()) == 2

    monkeypatch.setattr(NoJournal, "append", full_once)
    play(scene, controller=False)
