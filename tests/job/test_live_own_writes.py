"""What the controller wrote itself does not make it look again; what it left to do, it does all the same."""

from __future__ import annotations

from typing import Any

import pytest
from job_stage import Stage, play

from longshore.controllers.job import controller, manage, tracking
from longshore.controllers.job.memory import Memory

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
    memories: list[Memory] = []

    class Kept(Memory):
        def __init__(self, *caches: Any) -> None:
            super().__init__(*caches)
            memories.append(self)

    monkeypatch.setattr(controller, "Memory", Kept)

    async def scene(stage: Stage) -> None:
        await stage.job()
        (pod,) = await stage.until_live(1)
        await stage.end(pod, "Succeeded")
        await stage.until_condition("Complete")
        await stage.quiet()
        (memory,) = memories
        assert not memory.finished
        assert not memory.written._records

    play(scene)


@pytest.mark.parametrize("indexed", [False, True])
def test_what_is_too_much_for_one_sync_is_done_by_the_next(
    indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "MOST_UNCOUNTED", 2)
    monkeypatch.setattr(manage, "MOST_PER_SYNC", 2)
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
    monkeypatch.setattr(manage, "MOST_PER_SYNC", 2)

    async def scene(stage: Stage) -> None:
        await stage.job(completions=7, parallelism=7)
        await stage.until_live(7, seconds=2)
        await stage.patch_job({"spec": {"parallelism": 0}})
        await stage.until_live(0, seconds=2)

    play(scene)
