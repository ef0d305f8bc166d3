"""One client that asks without pause: others are answered in between, and it is told when it is too much."""

from __future__ import annotations

import asyncio

import pytest

from longshore.apiserver.http.begin import ApiFront
from longshore.client.local import LocalClient
from support.api_in_memory import Server

pytestmark = [pytest.mark.anyio, pytest.mark.long]
MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def _client(server: Server, name: str) -> LocalClient:
    client = LocalClient(server.api, manager=name)
    client._front = server.client._front
    return client


async def _fill(server: Server) -> None:
    server.client._front = ApiFront(server.api, apart=True)
    for number in range(300):
        await server.send("POST", MAPS, {"metadata": {"name": f"m{number}"}, "data": {"a": "x" * 2000}})


async def test_others_are_answered_between_the_requests_of_a_noisy_client(server: Server) -> None:
    await _fill(server)
    noisy, quiet = _client(server, "noisy"), _client(server, "quiet")
    done: list[str] = []

    async def ask(client: LocalClient, path: str) -> None:
        response = await client.request("GET", path)
        assert response.code == 200
        done.append(client.manager)

    many = [asyncio.ensure_future(ask(noisy, MAPS)) for _ in range(400)]
    await asyncio.sleep(0)
    await asyncio.gather(ask(quiet, f"{MAPS}/m1"), ask(quiet, LEASES), *many)
    assert done.index("quiet") < 100, "it does not wait for all that came before"
    assert done.count("noisy") == 400, "and nothing is lost"


async def test_a_client_with_too_much_waiting_is_asked_to_come_back(server: Server) -> None:
    await _fill(server)
    noisy = _client(server, "noisy")
    answers = await asyncio.gather(*(noisy.request("GET", MAPS) for _ in range(1000)))
    refused = [answer for answer in answers if answer.code == 429]
    assert 0 < len(refused) < 600
    assert refused[0].headers["retry-after"] == "1"
    assert (await noisy.request("GET", f"{MAPS}/m1")).code == 200
