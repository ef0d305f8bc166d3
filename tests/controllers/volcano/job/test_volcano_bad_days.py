"""A client with bad days: refusals, lost answers, broken watches, caches that lag. Jobs end as ever."""

from __future__ import annotations

import pytest

from controllers.volcano.job.stories import STORIES
from longshore.testing.faults import FaultyClient
from support.volcano_world import Story, World, controller, told, undisturbed

_SURE = [
    "runs to its end",
    "a failed pod restarts the job",
    "a failed pod is restarted alone",
    "commands abort and resume",
    "an evicted pod restarts the job",
    "a completed task completes the job",
    "it grows and shrinks",
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("story", [STORIES[name] for name in _SURE], ids=_SURE)
def test_bad_days_change_nothing(story: Story, seed: int) -> None:
    async def life(world: World) -> None:
        await controller(FaultyClient(world.client, world.clock, seed), world.clock)  # type: ignore[arg-type]

    assert told(story, life, seed) == undisturbed(story)[0]
