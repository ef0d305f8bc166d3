"""Pods that the controller removes carry its mark, whatever goes wrong on the way."""

from __future__ import annotations

from typing import Any

from longshore.api.errors import StatusError
from longshore.client.ask import Ask
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from longshore.testing.crashing import OneByOne, Send
from longshore.testing.stories import beside
from support.volcano_world import FOR_EVER, World, a_run, a_task, a_world, controller


class OnceRefused(OneByOne):
    """A client whose first change of one pod is refused."""

    def __init__(self, world: World, pod: str) -> None:
        super().__init__(world.client)
        self._pod, self.refused = pod, 0

    async def reach(self, ask: Ask, send: Send) -> Any:
        if (ask.verb, ask.resource.plural, ask.name) == ("patch", "pods", self._pod) and not self.refused:
            self.refused += 1
            raise StatusError(403, "Forbidden", "not now")
        return await send(ask)


def test_a_pod_whose_mark_is_refused_brings_nobody_down() -> None:
    """Its end would be an eviction, for which this Job's policy is to end the whole gang."""
    rules = Rule(runs=(FOR_EVER,)), Rule("j-w-0", (a_run(5.0, 1), FOR_EVER))
    policies = [{"event": "PodEvicted", "action": "RestartJob"}]
    restart = [{"event": "PodFailed", "action": "RestartTask"}]

    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, rules) as world:
            client = OnceRefused(world, "j-w-1")
            async with beside(controller(client, clock)):
                await world.job(
                    [a_task("w", 2, policies=restart), a_task("m", 1)], policies=policies, maxRetry=9
                )
                await world.phase("Running", running=3)
                master = (await world.pods())["j-m-0"]["metadata"]["uid"]
                await world.phase("Running", running=3, retryCount=1)
                await world.quiet()
                assert client.refused == 1
                assert (await world.pods())["j-m-0"]["metadata"]["uid"] == master

    virtual.run(play)
