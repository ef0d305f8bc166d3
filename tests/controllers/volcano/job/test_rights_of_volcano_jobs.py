"""The rights that `longshore manifests` gives the controller of Volcano Jobs are enough."""

from __future__ import annotations

import random

from longshore.controllers.volcano import job as volcano_job
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from longshore.testing import SeededKeys
from longshore.testing.stories import beside
from longshore.up import manifests
from support.rights import Noting, rights_of
from support.volcano_world import FOR_EVER, World, a_run, a_world


async def _much(world: World) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await world.job(
        {"w": 2, "head": 1},
        plugins={"svc": [], "ssh": [], "ray": [], "env": []},
        volumes=[{"mountPath": "/data", "volumeClaim": claim}],
        policies=[{"event": "PodFailed", "action": "RestartJob"}],
        maxRetry=5,
    )
    await world.phase("Running", retryCount=1)
    await world.command("AbortJob")
    await world.phase("Aborted")


def test_the_rights_are_enough() -> None:
    async def main(clock: VirtualClock) -> set[tuple[str, str, str]]:
        rules = Rule(runs=(a_run(5.0), FOR_EVER)), Rule("j-w-0", (a_run(5.0, 1), FOR_EVER))
        async with a_world(clock, rules) as world:
            client = Noting(world.api)
            async with beside(
                volcano_job.run(
                    ControllerContext(client, clock=clock, rng=random.Random(1)),
                    keys=SeededKeys(random.Random(1)),
                )
            ):
                await _much(world)
            return client.asked

    asked = virtual.run(main)
    assert asked <= rights_of(manifests.rules(["volcano-job"]))
    assert {resource for _, _, resource in asked} >= {"jobs/status", "networkpolicies", "commands"}
