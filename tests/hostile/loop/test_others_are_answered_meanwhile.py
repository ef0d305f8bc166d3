"""While one request is worked on, however large, others are answered: each body here once held the server.

No clock is asked: the others have their answers before the large request has its own.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator

import pytest

from apiserver.crd.widgets import DEFINITIONS, WIDGETS, define, definition, widget
from longshore.apiserver.http.begin import ApiFront
from longshore.up.options import Options
from longshore.up.running import running
from support.api_in_memory import Server

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
_ALONE = Options(in_memory=True, port=0, controllers=(), scheduler=False, node=False)
OTHERS = 10
"""Requests of others that are answered meanwhile."""


def _object(**metadata: object) -> bytes:
    return json.dumps({"metadata": {"name": "large", **metadata}}).encode()


def _owners(**more: object) -> bytes:
    one = {"apiVersion": "v1", "kind": "Pod", "name": "p", **more}
    return _object(ownerReferences=[{**one, "uid": f"u{number}"} for number in range(10_000)])


BODIES = {
    "10,000 owners": (MAPS, "application/json", _owners()),
    "10,000 controllers": (MAPS, "application/json", _owners(controller=True)),
    "invalid labels": (MAPS, "application/json", _object(labels={f"-{n}": "-" for n in range(60_000)})),
    "60,000 containers": (
        PODS,
        "application/json",
        b'{"metadata":{"name":"large"},"spec":{"containers":[%b{}]}}' % (b"{}," * 60_000),
    ),
    "60,000 lines of YAML": (
        MAPS,
        "application/yaml",
        b"metadata: {name: large}\ndata:\n" + b"".join(b"  k%d: v\n" % n for n in range(60_000)),
    ),
    "junk": (MAPS, "application/json", b"[" + b'{"a":[0,"b"]},' * 60_000 + b"0]"),
}


@pytest.fixture
async def apart(server: Server) -> AsyncIterator[Server]:
    """With a process for large bodies, as a longshore has it."""
    front = server.client._front = ApiFront(server.api, apart=True)
    yield server
    front.close()
    await asyncio.sleep(0)  # its socket is closed in the next turn of the loop


async def _answered_during(server: Server, large: asyncio.Task[object]) -> int:
    """How many small requests, one after another, are answered before the large one."""
    for count in range(OTHERS):
        answer = await server.send("GET", f"{MAPS}/small")
        assert answer.code == 200
        if large.done():
            return count
    return OTHERS


@pytest.mark.parametrize(("path", "kind", "body"), BODIES.values(), ids=BODIES)
async def test_a_large_body_holds_up_nobody(apart: Server, path: str, kind: str, body: bytes) -> None:
    await apart.send("POST", MAPS, {"metadata": {"name": "small"}})
    large = asyncio.ensure_future(apart.send("POST", path, body, type=kind))
    await asyncio.sleep(0)
    assert await _answered_during(apart, large) == OTHERS
    assert 200 < (await large).code < 500


async def test_a_large_collection_is_deleted_while_others_are_answered(server: Server) -> None:
    for number in range(3000):
        await server.send("POST", MAPS, {"metadata": {"name": f"m{number}", "labels": {"large": "yes"}}})
    await server.send("POST", MAPS, {"metadata": {"name": "small"}})
    large = asyncio.ensure_future(server.send("DELETE", MAPS, labelSelector="large=yes"))
    await asyncio.sleep(0)
    assert await _answered_during(server, large) == OTHERS
    assert (await large).code == 200
    assert [each["metadata"]["name"] for each in (await server.send("GET", MAPS)).body["items"]] == ["small"]


async def test_a_definition_goes_with_many_objects_while_others_are_answered() -> None:
    async with running(_ALONE) as longshore:
        server, store = Server(longshore.api, longshore.client), longshore.api.store
        await define(server, definition())
        for number in range(1000):
            await server.send("POST", WIDGETS, widget(f"w{number}"))
        large = asyncio.ensure_future(server.send("DELETE", f"{DEFINITIONS}/widgets.example.com"))
        counts = [1000]
        async with asyncio.timeout(60):
            while counts[-1]:
                await asyncio.sleep(0)
                counts.append(len(store.latest_list("example.com/widgets")))
            assert (await large).code == 200
            while (await server.send("GET", f"{DEFINITIONS}/widgets.example.com")).code != 404:  # noqa: ASYNC110 - seen from outside
                await asyncio.sleep(0)
        assert max(before - after for before, after in itertools.pairwise(counts)) < 500
