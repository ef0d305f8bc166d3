"""A create that raises something unforeseen is tried again: the Job ends as ever, no pod stays expected."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.volcano.job.stories import STORIES
from longshore.client import Client, Unreachable
from longshore.client.ask import Ask
from longshore.controllers.volcano.job import controller as job_controller
from longshore.controllers.volcano.job.act import Act
from longshore.controllers.volcano.job.plan import End
from longshore.testing.crashing import OneByOne, Send
from longshore.testing.stories import NS
from support.volcano_world import PODS, World, controller

_STORY = STORIES["a failed pod restarts the job"]


class Raising(OneByOne):
    """A client whose one create of a pod raises. The server never sees it."""

    def __init__(self, client: Client, number: int, error: Exception) -> None:
        super().__init__(client)
        self._number, self._error = number, error

    @property
    def raised(self) -> bool:
        return self._number <= 0

    async def reach(self, ask: Ask, send: Send) -> Any:
        if (ask.verb, ask.resource.plural) == ("create", "pods"):
            self._number -= 1
            if self._number == 0:
                raise self._error
        return await send(ask)


@pytest.mark.parametrize("error", [RuntimeError, Unreachable])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_only_pods_that_are_there_stay_expected(
    number: int, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = _STORY.telling.undisturbed()[0]
    strays: set[str] = set()
    worlds: list[World] = []
    clients: list[Raising] = []

    class Watched(Act):
        async def sync(self) -> End:
            try:
                return await super().sync()
            finally:
                there = {pod["metadata"]["name"] for pod in (await worlds[0].client.list(PODS, NS)).items}
                strays.update(self._remembered.making - there)

    monkeypatch.setattr(job_controller, "Act", Watched)

    async def life(world: World) -> None:
        worlds.append(world)
        clients.append(Raising(world.client, number, error("made to fail")))
        client: Any = clients[0]
        await controller(client, world.clock)

    assert _STORY.telling.told(life) == good
    assert not strays
    assert clients[0].raised
