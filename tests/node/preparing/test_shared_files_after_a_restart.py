"""Files that pods share are swept away after a restart of longshore only when no pod has them any more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longshore.api.types import Obj
from longshore.node.preparing.types import NotReady
from support.keeper_engine import exists, until
from support.preparing_world import Hours, World, renewing

pytestmark = pytest.mark.anyio

CONFIG_MAP = {"metadata": {"name": "c"}, "data": {"a": "1"}}
VOLUMES = [{"name": "v", "configMap": {"name": "c"}}]


async def running_pod(world: World) -> tuple[Obj, Path]:
    """A pod of the account `worker`, and the directory of its volume."""
    await world.create("ConfigMap", CONFIG_MAP)
    await world.create("ServiceAccount", {"metadata": {"name": "worker"}})
    pod = await world.pod(serviceAccountName="worker", volumes=VOLUMES)
    return pod, Path((await world.preparer.pod(pod)).volumes["v"].path)


async def test_the_files_of_a_pod_that_cannot_be_prepared_again_stay(world: World) -> None:
    pod, files = await running_pod(world)
    nobodys = files.with_name("nobodys")
    nobodys.mkdir()
    await world.client.delete(("v1", "ServiceAccount"), "worker", "default")
    again = world.another(clock=Hours())
    with pytest.raises(NotReady, match="worker"):
        await again.pod(pod)
    await again.known()
    async with renewing(world, again):
        await until(lambda: not exists(nobodys))
    assert (files / "a").read_text() == "1"


async def test_nothing_is_swept_before_the_pods_of_the_node_are_known(world: World) -> None:
    _, files = await running_pod(world)
    clock = Hours()
    again = world.another(clock=clock)
    async with renewing(world, again):
        await until(lambda: clock.ahead > 5 * 3600)
        assert (files / "a").read_text() == "1"
        await again.known()
        await until(lambda: os.listdir(files.parent) == [])
