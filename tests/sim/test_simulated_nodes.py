"""The nodes of a simulation say and ask what a kubelet would."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client.ask import Ask
from longshore.client.local import LocalClient
from longshore.machinery.informers.shared import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.sim.fleet import Fleet
from longshore.sim.settings import nodes
from longshore.sim.troubles import Troubles
from longshore.store import Store
from longshore.testing.pod_outcomes import Run
from longshore.testing.scripts import Scripts


class Heard(LocalClient):
    """Notes which verbs were used on pods."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.verbs: list[str] = []

    async def _one(self, ask: Ask) -> Obj:
        if ask.resource.plural == "pods":
            self.verbs.append(ask.verb)
        return await super()._one(ask)


Scene = Callable[[LocalClient, Heard, VirtualClock], Awaitable[None]]


def play(scene: Scene) -> None:
    """One node, on which each pod runs for a minute, and stops within five seconds."""

    async def whole(clock: VirtualClock) -> None:
        store = Store.open(None)
        api = Api(store, clock=clock, rng=clock.rng)
        client, theirs = LocalClient(api), Heard(api)
        await client.create(kinds.NAMESPACES, {"metadata": {"name": "default"}})
        await client.create(("v1", "ServiceAccount"), {"metadata": {"name": "default"}}, "default")
        scripts = Scripts(random.Random(0), default=Run(60.0, on_term=5.0))
        fleet = Fleet(theirs, clock, scripts, nodes(1, {}), Troubles(), random.Random(0))
        await fleet.prepare()
        running = asyncio.create_task(fleet.run(Informers(theirs, clock=clock, rng=clock.rng)))
        spec = {"nodeName": "node-0", "containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
        await client.create(kinds.PODS, {"metadata": {"name": "p"}, "spec": spec}, "default")
        try:
            await scene(client, theirs, clock)
        finally:
            running.cancel()
            await store.close()

    virtual.run(whole)


async def left(client: LocalClient) -> list[str]:
    return [pod["metadata"]["name"] for pod in (await client.list(kinds.PODS, "default")).items]


def test_a_pod_that_ended_still_says_when_it_began() -> None:
    async def scene(client: LocalClient, theirs: Heard, clock: VirtualClock) -> None:
        await clock.sleep(1.0)
        began = (await client.get(kinds.PODS, "p", "default"))["status"]["startTime"]
        await clock.sleep(60.0)
        status = (await client.get(kinds.PODS, "p", "default"))["status"]
        assert (status["phase"], status["startTime"]) == ("Succeeded", began)
        (container,) = status["containerStatuses"]
        assert container["state"]["terminated"]["finishedAt"] > began

    play(scene)


def test_a_pod_that_ended_is_removed_without_its_node() -> None:
    async def scene(client: LocalClient, theirs: Heard, clock: VirtualClock) -> None:
        await clock.sleep(61.0)
        await client.delete(kinds.PODS, "p", "default")
        await clock.sleep(1.0)
        assert await left(client) == []
        assert theirs.verbs == ["patch", "patch"]  # it runs, it has ended

    play(scene)


def test_a_pod_that_runs_is_removed_by_its_node_when_it_has_stopped() -> None:
    async def scene(client: LocalClient, theirs: Heard, clock: VirtualClock) -> None:
        await clock.sleep(10.0)
        await client.delete(kinds.PODS, "p", "default")
        await clock.sleep(4.0)
        assert await left(client) == ["p"]
        await clock.sleep(2.0)
        assert await left(client) == []
        assert theirs.verbs == ["patch", "patch", "delete"]

    play(scene)
