"""The Job in docs/reference/volcano.md does what the page says."""

from __future__ import annotations

import re
from typing import Any

import yaml

from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from longshore.testing.stories import beside
from support.places import ROOT
from support.volcano_world import FOR_EVER, JOBS, NS, a_run, a_world, controller

PAGE = ROOT / "docs" / "reference" / "volcano.md"


def test_the_documented_job_completes_with_its_master() -> None:
    found = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    manifest = yaml.safe_load(found[1])

    async def live(clock: VirtualClock) -> tuple[Any, Any]:
        rules = Rule(runs=(FOR_EVER,)), Rule("*master*", (a_run(20.0),))
        async with a_world(clock, rules) as world, beside(controller(world.client, clock)):
            await world.client.create(JOBS, manifest, NS)
            await world.phase("Running", name="train", running=3)
            pods = await world.pods()
            await world.phase("Completed", name="train")
            await world.quiet()
            return pods, await world.pods()

    running, left = virtual.run(live)
    environment = {
        e["name"]: e.get("value") for e in running["train-worker-1"]["spec"]["containers"][0]["env"]
    }
    assert environment["MASTER_ADDR"] == "train-master-0.train"
    assert environment["RANK"] == "2"
    assert environment["VC_TASK_INDEX"] == "1"
    assert [*left] == ["train-master-0"]
