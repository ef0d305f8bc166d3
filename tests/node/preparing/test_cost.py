"""A pod that asks for nothing special costs nothing special."""

import asyncio
import time
from typing import Any

import pytest

from support.preparing_world import World

pytestmark = pytest.mark.anyio


async def test_a_plain_pod_costs_no_request_and_nothing_on_disk(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.preparer.pod(await world.pod(name="first"))  # the account's token is read once
    before = sorted(world.root.rglob("*"))
    pod = await world.pod(name="second")

    async def refused(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a request was made")

    for verb in ("get", "list", "create"):
        monkeypatch.setattr(world.client, verb, refused)
    await world.container(pod)
    assert sorted(world.root.rglob("*")) == before


async def test_plain_pods_of_one_account_share_one_set_of_mounts(world: World) -> None:
    one, two = [await world.container(await world.pod(name=name)) for name in ("one", "two")]
    assert one.mounts == two.mounts
    assert [mount.target for mount in one.mounts] == ["/var/run/secrets/kubernetes.io/serviceaccount"]


async def test_a_plain_pod_is_prepared_in_microseconds(world: World) -> None:
    pod = await world.pod()
    prepared = await world.preparer.pod(pod)
    spec = pod["spec"]["containers"][0]
    best = 1.0
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(200):
            prepared = await world.preparer.pod(pod)
            world.preparer.container(prepared, pod, spec, 0, "127.64.0.1")
        best = min(best, (time.perf_counter() - begin) / 200)
        await asyncio.sleep(0)
    assert best < 200e-6  # about 30 on an idle machine


ACCOUNT = {"automountServiceAccountToken": False}
CONTEXT = {"securityContext": {"privileged": True}}


@pytest.mark.parametrize("asked", [{}, ACCOUNT, {"container": CONTEXT}, {"hostname": "me"}], ids=str)
async def test_what_takes_no_waiting_is_prepared_at_once_and_in_the_same_way(
    world: World, asked: dict[str, Any]
) -> None:
    pod = await world.pod(**asked)
    prepared = await world.preparer.pod(pod)
    assert world.preparer.at_once(pod) == prepared


async def test_an_account_that_nobody_has_read_yet_is_waited_for(world: World) -> None:
    assert world.preparer.at_once(await world.pod()) is None


REFERENCE = {"envFrom": [{"configMapRef": {"name": "c", "optional": True}}]}


@pytest.mark.parametrize(
    "asked",
    [
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"container": REFERENCE},
        {"subdomain": "peers"},
        {"hostAliases": [{"ip": "127.0.0.1", "hostnames": ["x"]}]},
    ],
    ids=str,
)
async def test_what_has_to_be_made_or_read_is_not_prepared_at_once(
    world: World, asked: dict[str, Any]
) -> None:
    pod = await world.pod(**asked)
    await world.preparer.pod(pod)
    assert world.preparer.at_once(pod) is None
