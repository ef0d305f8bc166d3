"""A client may leave out of lists and watches what its reader does not need, and keep its own pace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from client.http.scripted_server import Script, made
from longshore.api.errors import StatusError
from longshore.client.ask import known
from longshore.client.http.trimmed_objects import FOR_CONTROLLERS

pytestmark = pytest.mark.anyio
PODS = ("v1", "Pod")
POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "ns", "managedFields": [{"manager": "m"}], "labels": {"a": "b"}},
    "spec": {
        "nodeName": "n",
        "volumes": [{"name": "v"}],
        "containers": [{"name": "c", "image": "i", "env": [{"name": "A"}], "resources": {"limits": {}}}],
    },
    "status": {"phase": "Running"},
}
TRIMMED = {
    "metadata": {"name": "p", "namespace": "ns", "labels": {"a": "b"}},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": {"limits": {}}}]},
    "status": {"phase": "Running"},
}


async def test_pods_come_without_what_no_rule_reads(script: Script) -> None:
    line = json.dumps({"type": "ADDED", "object": POD}) + "\n"

    async def stream(request: web.BaseRequest) -> web.Response:
        return web.Response(text=line)

    script.answers = [made({"items": [POD], "metadata": {}}), stream, made(POD)]
    async with script.client(trimmed=FOR_CONTROLLERS) as client:
        assert (await client.list(PODS, "ns")).items == [TRIMMED]
        async with client.watch(PODS, "ns") as events:
            assert [event.object async for event in events] == [TRIMMED]
        assert await client.create(PODS, POD) == TRIMMED
        assert await client.patch(PODS, "p", {}, "ns") == TRIMMED
        assert await client.get(PODS, "p", "ns") == POD  # may be written back


async def test_pods_of_one_template_share_its_parts(script: Script) -> None:
    other = {**POD, "metadata": {**POD["metadata"], "name": "q"}}
    script.answers = [made({"items": [POD, other], "metadata": {}}), made(POD)]
    async with script.client(trimmed=FOR_CONTROLLERS) as client:
        one, two = (await client.list(PODS, "ns")).items
        assert one["spec"] is two["spec"]
        assert one["metadata"]["labels"] is two["metadata"]["labels"]
        assert one["status"] is not two["status"]


@pytest.mark.parametrize("trimmed", [None, FOR_CONTROLLERS])
async def test_a_watch_that_ends_with_an_error_says_which(script: Script, trimmed: Any) -> None:
    status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}

    async def stream(request: web.BaseRequest) -> web.Response:
        return web.Response(text=json.dumps({"type": "ERROR", "object": status}) + "\n")

    script.answers = [stream]
    async with script.client(trimmed=trimmed) as client, client.watch(PODS, "ns") as events:
        with pytest.raises(StatusError) as caught:
            await anext(events)
    assert (caught.value.code, caught.value.message) == (410, "too old")


async def test_a_packed_object_gives_itself_back(script: Script) -> None:
    row = known(PODS)
    assert row is not None
    async with script.client() as client:
        packed = client.packed(row, POD)
        assert packed is not None
        assert packed.obj == POD


async def test_every_request_waits_for_its_turn(script: Script) -> None:
    script.answers = [made(POD)]
    turns = iter([0.0, 1.5, 3.0])
    async with script.client(pace=lambda: next(turns)) as client:
        for _ in range(3):
            await client.get(PODS, "p", "ns")
    assert script.pauses == [1.5, 3.0]
