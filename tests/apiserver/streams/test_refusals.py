"""Who may not, what cannot be, and how much is too much: answered before a connection is upgraded."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
import yaml

from apiserver.streams.conftest import Stage
from longshore.apiserver.http import open_streams
from longshore.client.http.asyncio_driver import HttpConnection
from longshore.client.http.websocket_client import Handshake
from support.http_calls import Calls, calling

pytestmark = pytest.mark.anyio

RBAC = "rbac.authorization.k8s.io/v1"


class Caller:
    """Plain HTTP as the administrator, or as somebody the administrator impersonates."""

    def __init__(self, stage: Stage, calls: Calls, following: AsyncExitStack) -> None:
        config = yaml.safe_load(stage.longshore.kubeconfig.read_text())
        self.calls, self.following = calls, following
        self.headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}

    async def __call__(
        self, what: str, user: str = "", method: str = "GET", **headers: str
    ) -> tuple[int, Any]:
        sent = self._request(what, user, headers, method)
        answer = await self.calls.pool.send(sent)
        return answer.code, json.loads(answer.body)["message"] if answer.code >= 400 else answer.body

    async def upgrade(self, what: str, user: str = "", *protocols: str) -> int:
        handshake = Handshake(protocols)
        async with self.calls.pool.open(self._request(what, user, handshake.headers)) as answer:
            if answer.reader.code == 101:
                await handshake.accepted(answer).close()
            return answer.reader.code

    async def follow(self, user: str = "") -> HttpConnection:
        """A log whose first line is read, and which goes on."""
        opened = self.calls.pool.open(self._request("log?follow=true", user, {}))
        answer = await self.following.enter_async_context(opened)
        assert await answer.read() == b"line\n"
        return answer

    def _request(self, what: str, user: str, headers: Mapping[str, str], method: str = "GET") -> bytes:
        sent = self.headers | ({"Impersonate-User": user} if user else {}) | dict(headers)
        return self.calls.request(method, f"/api/v1/namespaces/default/pods/p/{what}", sent.items(), b"")


@pytest.fixture
async def call(stage: Stage) -> Any:
    await stage.pod()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with calling(stage.longshore.server, context, {}) as calls, AsyncExitStack() as following:
        yield Caller(stage, calls, following)


async def _grant(stage: Stage, user: str, *verbs: str) -> None:
    client, reached = stage.longshore.client, ["pods/exec", "pods/log", "pods/portforward"]
    rules = [{"apiGroups": [""], "resources": reached, "verbs": list(verbs)}]
    await client.create((RBAC, "Role"), {"metadata": {"name": user}, "rules": rules}, "default")
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    await client.create((RBAC, "RoleBinding"), binding, "default")


async def test_a_websocket_needs_the_right_to_create_too(stage: Stage, call: Caller) -> None:
    await _grant(stage, "reader", "get")
    await _grant(stage, "writer", "get", "create")
    what = "exec?command=true&stdout=true"
    status, message = await call(what, "reader")
    assert (status, message) == (
        403,
        'pods "p" is forbidden: User "reader" cannot create resource "pods/exec" in API group "" '
        'in the namespace "default"',
    )
    assert await call.upgrade(what, "reader", "v5.channel.k8s.io") == 403
    assert await call.upgrade(what, "writer", "v5.channel.k8s.io") == 101
    assert (await call(what, "nobody"))[0] == 403


async def test_what_is_no_upgrade_or_asks_for_nothing_is_refused(stage: Stage, call: Caller) -> None:
    assert await call("exec?command=true&stdout=1") == (400, "Upgrade request required")
    assert await call("exec?command=true") == (400, "you must specify at least 1 of stdin, stdout, stderr")
    assert await call("exec?stdout=1") == (400, "you must specify a command to run")
    assert (await call("exec?command=a&stdout=1&container=zz"))[1] == "container zz is not valid for pod p"
    assert await call.upgrade("exec?command=true&stdout=1", "", "unheard.of") == 403
    assert await call.upgrade("portforward", "", "v4.channel.k8s.io") == 400
    assert await call.upgrade("portforward?ports=70000", "", "v4.channel.k8s.io") == 400


async def test_a_pod_of_a_node_that_is_not_ours_is_out_of_reach(stage: Stage, call: Caller) -> None:
    stage.door.node = "elsewhere"
    assert (await call("log"))[0] == 503
    assert (await call("exec?command=true&stdout=1"))[0] == 503


async def test_there_is_an_end_to_how_many_streams_are_served(
    stage: Stage, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_streams, "MAX_POD_STREAMS", 2)
    stage.door.lines.append(b"line\n")
    following = []
    for _ in range(2):
        following.append(await call.follow())
    status, message = await call("log")
    assert status == 429
    assert "2 logs and connections to pods are open" in message
    following[0].abort()
    async with asyncio.timeout(60):
        while (await call("log"))[0] == 429:  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0.02)
    stage.door.ended.set()
    following[1].abort()


async def test_one_user_leaves_streams_for_others(
    stage: Stage, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_streams, "MAX_POD_STREAMS", 4)
    await _grant(stage, "greedy", "get", "create")
    await _grant(stage, "other", "get", "create")
    stage.door.lines.append(b"line\n")
    following = [await call.follow("greedy") for _ in range(3)]
    status, message = await call("log", "greedy")
    assert (status, message) == (
        429,
        "3 of the 4 logs and connections to pods that may be open are yours, and the others are for others; "
        "please end one first",
    )
    assert await call.upgrade("exec?command=true&stdout=1", "greedy", "v5.channel.k8s.io") == 429
    following.append(await call.follow("other"))
    stage.door.ended.set()
    for answer in following:
        answer.abort()
