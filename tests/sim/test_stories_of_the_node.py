"""The stories of the node's own tests, on a node of a simulation.

After each story the chronicle says of its pods what the API says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.sim import settings, simulate
from longshore.sim.chronicle import Chronicle
from longshore.sim.settings import SimSettings
from longshore.testing.scripted_runtime import RunScript
from node.agent import (
    test_ephemeral_containers,
    test_init_and_sidecars,
    test_plain_pods,
    test_probes,
    test_restarts,
    test_stopping,
    test_unstartable,
)
from sim.worlds import START, ZONE
from support import node_world
from support.node_world import NODE, NS, PODS, World
from support.world import NAMESPACES

SERVICE_ACCOUNTS = ("v1", "ServiceAccount")
MODULES = (
    test_ephemeral_containers, test_init_and_sidecars, test_plain_pods, test_probes, test_restarts,
    test_stopping, test_unstartable,
)  # fmt: skip
"""All modules of how pods go; the others tell of the machine: its files, its lease, its engines."""
LEFT_OUT = {
    "test_events_tell_of_the_start_and_that_the_image_is_not_used": "Events are heard without their type",
    "test_unused_images_are_told_once_for_the_pods_of_one_owner_with_the_same_images": "no Jobs are there",
    "test_what_was_decided_is_kept_in_words": "decisions are not recorded",
    "test_the_end_of_the_log_is_the_message_where_the_policy_says_so": "no files of logs are written",
    "test_a_termination_message_is_reported": "no files of messages are written",
    "test_the_engine_is_chosen_by_runtime_class": "a simulated node has one engine",
}
"""Stories of what no simulated node has, with the reason."""


class HearingChronicle(Chronicle):
    """A chronicle that keeps the Events it hears."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.told: list[tuple[Any, ...]] = []

    def heard(self, ref: Obj, reason: str, message: str) -> None:
        self.told.append((reason, message))
        super().heard(ref, reason, message)


class SimulatedWorld(World):
    """A node's world whose node is that of a simulation."""

    def __init__(self, clock: VirtualClock, script: RunScript) -> None:
        self.chronicle = HearingChronicle(clock)
        given = settings.node(NODE, {"cpu": "4", "memory": "8Gi", "pods": "50"})
        self.inner = simulate.world_of(
            SimSettings((given,), START, ZONE, settings.DAY_SECONDS), clock, self.chronicle
        )
        super().__init__(self.inner.plane.api, clock, script, Path("no-directory"))
        self.client = self.inner.client
        self.machine, self.preparer = self.inner.node.machine, self.inner.node.preparer
        self.machine.script = script

    async def told(self, *fields: str) -> list[tuple[Any, ...]]:
        assert fields == ("reason", "message")
        return self.chronicle.told

    async def check(self) -> None:
        """The chronicle and the API agree on every pod that is there."""
        lines = {line.name: line for line in self.chronicle.pods.values()}
        for pod in await self.listed(PODS):
            line = lines[pod["metadata"]["name"]]
            assert (line.ended is not None) == pod_state.has_ended(pod)
            if line.ended is not None and "deletionTimestamp" not in pod["metadata"]:
                wanted = {"Succeeded": "succeeded", "Failed": "failed"}[pod["status"]["phase"]]
                assert line.result == wanted
                assert line.code == pod_state.main_end(pod).get("exitCode")


def told(
    story: Callable[[World], Awaitable[None]],
    script: RunScript | None = None,
    *,
    before: Callable[[World], None] = lambda world: None,
) -> None:
    """Plays a story on the node of a simulation."""

    async def play(clock: VirtualClock) -> None:
        world = SimulatedWorld(clock, script or node_world.scripted())
        before(world)
        async with world.inner.running():
            informers = world.inner.plane.wiring.informers.share()
            world.chronicle.follow(informers)
            world.begin(informers.run())
            await world.client.create(NAMESPACES, {"metadata": {"name": NS}})
            await world.until(lambda: world.find(SERVICE_ACCOUNTS, "default"))
            world.agent = world.inner.node.agent
            try:
                await story(world)
                await world.check()
            finally:
                await world.stop()
        await world.inner.plane.parts.store.close()

    virtual.run(play)


@pytest.fixture(autouse=True)
def in_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        monkeypatch.setattr(module, "told", told)


def _stories() -> dict[str, Any]:
    """The tests of the modules that tell a story."""
    return {
        name: each
        for module in MODULES
        for name, each in vars(module).items()
        if isinstance(each, FunctionType) and name.startswith("test_") and "told" in each.__code__.co_names
    }


globals().update({name: each for name, each in _stories().items() if name not in LEFT_OUT})


def test_what_is_left_out_is_a_story() -> None:
    assert {*LEFT_OUT} <= {*_stories()}
