"""Where each request goes over a network, pods that succeed one after the other are counted once a second."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_stage import Stage, play

STATUS = "update jobs/status"


async def gathering(stage: Stage, **spec: Any) -> None:
    """A Job at work, before any of its pods has ended."""
    stage.gathers_ends = True
    await stage.start()
    await stage.job(**spec)
    await stage.clock.sleep(2)
    stage.theirs.asked.clear()


async def end_apart(stage: Stage, count: int, seconds: float) -> None:
    for pod in (await stage.live())[:count]:
        await stage.end(pod, "Succeeded")
        await stage.clock.sleep(seconds)


def test_successes_of_one_second_are_counted_together() -> None:
    async def story(stage: Stage) -> None:
        await gathering(stage, completions=50, parallelism=50)
        await end_apart(stage, 40, 0.1)
        await stage.clock.sleep(1)
        assert (await stage.status())["succeeded"] == 40
        # The first one, and then four or five batches; each is noted and, without its finalizers, counted.
        assert stage.theirs.asked[STATUS] <= 12
        assert stage.theirs.asked["patch pods"] == 40

    play(story)


def test_the_first_success_and_the_last_one_are_counted_immediately() -> None:
    async def story(stage: Stage) -> None:
        await gathering(stage, completions=3, parallelism=3)
        await end_apart(stage, 1, 0.05)
        assert (await stage.status())["succeeded"] == 1
        await end_apart(stage, 1, 0.05)
        assert (await stage.status())["succeeded"] == 1
        await end_apart(stage, 1, 0.05)
        assert "Complete=True" in await stage.conditions()

    play(story)


def test_nobody_waits_longer_than_a_second() -> None:
    async def story(stage: Stage) -> None:
        await gathering(stage, completions=5, parallelism=5)
        await end_apart(stage, 2, 0.5)
        await stage.clock.sleep(0.1)
        assert (await stage.status())["succeeded"] == 2

    play(story)


@pytest.mark.parametrize(
    "spec",
    [
        {"completions": 9, "parallelism": 3},
        {
            "completions": 3,
            "parallelism": 3,
            "completionMode": "Indexed",
            "successPolicy": {"rules": [{"succeededCount": 2}]},
        },
    ],
    ids=["others start in their place", "a success policy"],
)
def test_successes_from_which_something_follows_are_looked_at_immediately(spec: dict[str, Any]) -> None:
    async def story(stage: Stage) -> None:
        await gathering(stage, **spec)
        await end_apart(stage, 2, 0.05)
        if "successPolicy" in spec:
            assert "SuccessCriteriaMet=True" in await stage.conditions()
        else:
            assert len(await stage.live()) == 3
            assert (await stage.status())["succeeded"] == 2

    play(story)


def test_without_a_network_each_success_is_counted_immediately() -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.job(completions=5, parallelism=5)
        await stage.clock.sleep(2)
        await end_apart(stage, 3, 0.05)
        assert (await stage.status())["succeeded"] == 3

    play(story)
