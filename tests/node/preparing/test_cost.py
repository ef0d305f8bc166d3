"""A pod that asks for nothing special costs nothing special."""

import asyncio
import time
from typing import Any

import pytest

from support.preparing_world import World

pytestmark = pytest.mark.anyio


async def test_a_plain_pod_costs_no_request_and_no_new_file_after_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await world.pod(name="first")
    await world.container(first)  # the account's token is read once
    world.preparer.stopped(first["metadata"]["uid"])
    before = sorted(world.root.rglob("*"))
    pod = await world.pod(name="second")

    async def refused(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a request was made")

    for verb in ("get", "list", "create"):
        monkeypatch.setattr(world.client, verb, refused)
    await world.container(pod)
    assert sorted(world.root.rglob("*")) == before


async def test_a_plain_pod_has_the_mounts_of_the_one_before_it(world: World) -> None:
    """The keeper uses a container's surroundings again for the same mounts."""
    first = await world.pod(name="one")
    one = await world.container(first)
    world.preparer.stopped(first["metadata"]["uid"])
    two = await world.container(await world.pod(name="two"))
    assert one.mounts == two.mounts
    targets = [mount.target for mount in one.mounts]
    assert targets == ["/var/run/secrets/kubernetes.io/serviceaccount", "/etc/hosts"]


async def test_a_plain_pod_is_prepared_in_microseconds(world: World) -> None:
    pod = await world.pod()
    prepared = await world.preparer.pod(pod)
    spec = pod["spec"]["containers"][0]
    best = 1.0
    for _ in range(5):
        begin = time.process_time()
        for _ in range(200):
            prepared = await world.preparer.pod(pod)
            world.preparer.container(prepared, pod, spec, 0, "127.64.0.1")
        best = min(best, (time.process_time() - begin) / 200)
        await asyncio.sleep(0)
    assert best < 200e-6  # of CPU time; it is about 30
