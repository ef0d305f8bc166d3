"""What a pod's own Kubernetes client finds: token, authority, namespace."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.apiserver.access.tokens import Tokens
from longshore.client.config import connection
from longshore.machinery.time.clock import RealClock
from longshore.node.preparing.types import NotReady
from longshore.testing.faulty_client import unanswered
from longshore.testing.injected_faults import Fault, Faults, StruckClient
from support.keeper_engine import exists, until
from support.preparing_world import SERVER, Hours, World, renewing

pytestmark = pytest.mark.anyio


class ShiftedClock(RealClock):
    """The real clock, some seconds ahead."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


async def files(world: World, pod: dict[str, Any]) -> Path:
    mount, _hosts = (await world.container(pod)).mounts
    return Path(mount.source)


async def test_an_in_cluster_client_finds_all_it_needs(world: World) -> None:
    pod = await world.pod()
    directory = await files(world, pod)
    found = connection.in_cluster(await world.env(pod), directory)
    assert (found.server, found.namespace) == ("https://127.0.0.1:6443", "default")
    assert found.ca == SERVER.ca_pem.encode()


async def test_the_token_is_that_of_the_pods_own_account(world: World) -> None:
    await world.create("ServiceAccount", {"metadata": {"name": "robot"}})
    token = (await files(world, await world.pod(serviceAccountName="robot")) / "token").read_text()
    tokens = world.api.api.tokens
    assert isinstance(tokens, Tokens)
    user = tokens.user_of(token)
    assert user is not None
    assert user.name == "system:serviceaccount:default:robot"
    assert "system:masters" not in user.groups


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [
        (None, None, True),
        (False, None, False),
        (False, True, True),
        (True, False, False),
        (None, False, False),
    ],
)
async def test_the_pod_has_the_last_word_on_whether_a_token_is_mounted(
    world: World, of_account: bool | None, of_pod: bool | None, mounted: bool
) -> None:
    account: dict[str, Any] = {"metadata": {"name": "robot"}}
    if of_account is not None:
        account["automountServiceAccountToken"] = of_account
    await world.create("ServiceAccount", account)
    spec = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
    made = await world.container(await world.pod(serviceAccountName="robot", **spec))
    assert (len(made.mounts) == 2) is mounted  # beside /etc/hosts
    assert dict(made.env)["KUBERNETES_SERVICE_HOST"] == "127.0.0.1"


async def test_a_token_is_renewed_when_most_of_its_life_has_passed(world: World) -> None:
    clock = ShiftedClock()
    preparer = world.another(clock=clock)
    pod = await world.pod()
    prepared = await preparer.pod(pod)
    token = Path(prepared.account[0].source) / "token"
    first = token.read_text()
    clock.ahead = 3607 * 0.7
    await preparer.refresh(prepared, pod)
    assert token.read_text() == first
    await asyncio.sleep(1.1)  # tokens made in the same second are the same
    clock.ahead = 3607 * 0.81
    await preparer.refresh(prepared, pod)
    assert token.read_text() != first
    assert os.readlink(token) == "..data/token"


def put_in_the_way(directory: Path) -> None:
    """A file where the directory was: nothing can be written there, not even by root."""
    directory.rename(directory.with_name("aside"))
    directory.write_text("")


async def test_a_token_that_cannot_be_written_is_renewed_when_it_can(world: World) -> None:
    """And nothing else stops meanwhile: with the preparer the node would, and with it perhaps the pods."""
    preparer = world.another(clock=Hours())
    directory = Path((await preparer.pod(await world.pod())).account[0].source)
    put_in_the_way(directory)
    async with renewing(world, preparer) as running:
        await asyncio.sleep(0.2)
        assert not running.done()
        os.unlink(directory)
        await until(lambda: exists(directory / "token"))


async def test_a_token_is_renewed_again_after_the_server_could_not_be_reached(world: World) -> None:
    faults = Faults(RealClock())
    client = StruckClient(world.client, RealClock(), faults)
    preparer = replace(world, client=client).another(clock=Hours())
    directory = Path((await preparer.pod(await world.pod())).account[0].source)
    faults.add(Fault("GET *", "controllers", unanswered))
    async with renewing(world, preparer):
        await asyncio.sleep(0.2)
        os.rename(directory, directory.with_name("aside"))
        faults.clear()
        await until(lambda: exists(directory / "token"))


async def test_an_account_made_anew_gets_a_new_token(world: World) -> None:
    clock = ShiftedClock()
    preparer = world.another(clock=clock)
    pod = await world.pod()
    token = Path((await preparer.pod(pod)).account[0].source) / "token"
    first = token.read_text()
    await world.client.delete(("v1", "ServiceAccount"), "default", "default")
    await world.create("ServiceAccount", {"metadata": {"name": "default"}})
    clock.ahead = 11
    await preparer.pod(pod)
    assert token.read_text() != first


async def _pod_without_account(world: World, name: str) -> Obj:
    """A pod whose account went after it came."""
    await world.create("ServiceAccount", {"metadata": {"name": name}})
    pod = await world.pod(serviceAccountName=name)
    await world.client.delete(("v1", "ServiceAccount"), name, "default")
    return pod


async def test_a_pod_waits_for_an_account_that_is_not_there(world: World) -> None:
    pod = await _pod_without_account(world, "nobody")
    preparer = world.another(clock=Hasty())
    with pytest.raises(NotReady) as caught:
        await preparer.pod(pod)
    assert caught.value.message == (
        'MountVolume.SetUp failed for volume "kube-api-access" : serviceaccounts "nobody" not found'
    )


async def test_an_account_that_comes_a_moment_later_costs_no_retry(world: World) -> None:
    pod = await _pod_without_account(world, "late")
    waiting = asyncio.create_task(world.preparer.pod(pod))
    await asyncio.sleep(0.02)
    await world.create("ServiceAccount", {"metadata": {"name": "late"}})
    assert (await waiting).account


class Hasty(RealClock):
    """A clock on which every look is a second after the last one."""

    def __init__(self) -> None:
        self.looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return float(self.looks)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
