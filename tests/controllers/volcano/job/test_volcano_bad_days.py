"""A client with bad days: refusals, lost answers, broken watches, caches that lag. Jobs end as ever."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controllers.volcano.job.stories import STORIES
from longshore.api.facts.volcano_job_state import phase_of
from longshore.client import WatchEvent
from longshore.client.ask import Ask
from longshore.client.source import Watching
from longshore.testing import faulty_client
from longshore.testing.crashing import Send
from longshore.testing.faulty_client import FaultyClient
from support.volcano_world import Story, World, controller

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
        await controller(FaultyClient(world.client, world.clock, seed), world.clock)

    assert story.telling.told(life, seed) == story.telling.undisturbed()[0]


class LosesTheStart(FaultyClient):
    """Nobody answers when the Job is written down as Running, and its watch is silent for a while from then
    on. Nor does anybody answer when a pod is deleted for the first time."""

    silent_until = 0.0

    def __init__(self, world: World) -> None:
        super().__init__(world.client, world.clock, 0, rate=0.0, lag=0.0)
        self._lost: set[str] = set()

    async def reach(self, ask: Ask, send: Send) -> Any:
        is_status = ask.subresource == "status"
        loses = phase_of(ask.value) == "Running" if is_status else ask.verb == "delete"
        if not loses or ask.verb in self._lost:
            return await send(ask)
        self._lost.add(ask.verb)
        if is_status:
            self.silent_until = self._clock.monotonic() + 60
            await send(ask)
        raise faulty_client.unanswered()

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        is_silent = ask.resource.qualified == "jobs.batch.volcano.sh"
        async with self._client._events(ask) as events:
            yield Watching(self._silent(events)) if is_silent else events

    async def _silent(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            await self._clock.sleep(max(self.silent_until - self._clock.monotonic(), 0))
            yield event


@pytest.mark.parametrize("name", ["a failed pod restarts the job", "a failed pod is restarted alone"])
def test_an_action_decided_on_an_outdated_job_is_not_forgotten(name: str) -> None:
    async def life(world: World) -> None:
        await controller(LosesTheStart(world), world.clock)

    assert STORIES[name].telling.told(life) == STORIES[name].telling.undisturbed()[0]
