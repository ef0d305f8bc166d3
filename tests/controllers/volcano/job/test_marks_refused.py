"""Pods that the controller removes carry its mark, whatever goes wrong on the way."""

from __future__ import annotations

from typing import Any

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import What
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from longshore.testing.crashing import OneByOne
from longshore.testing.stories import as_client, beside
from support.volcano_world import FOR_EVER, PODS, World, a_run, a_task, a_world, controller


class OnceRefused(OneByOne):
    """A client whose first change of one pod is refused."""

    def __init__(self, world: World, pod: str) -> None:
        self._client, self._pod, self.refused = world.client, pod, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def patch(self, what: What, name: str, *arguments: Any, **options: Any) -> Obj:
        if (what, name) == (PODS, self._pod) and not self.refused:
            self.refused += 1
            raise StatusError(403, "Forbidden", "not now")
        return await self._client.patch(what, name, *arguments, **options)


def test_a_pod_whose_mark_is_refused_brings_nobody_down() -> None:
    """Its end would be an eviction, for which this Job's policy is to end the whole gang."""
    rules = Rule(runs=(FOR_EVER,)), Rule("j-w-0", (a_run(5.0, 1), FOR_EVER))
    policies = [{"event": "PodEvicted", "action": "RestartJob"}]
    restart = [{"event": "PodFailed", "action": "RestartTask"}]

    async def play(clock: VirtualClock) -> None:
        async with a_world(clock, rules) as world:
            client = OnceRefused(world, "j-w-1")
            async with beside(controller(as_client(client), clock)):
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
