"""An Api over a store in memory, a clock that the test moves, and short ways to call it."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.api.kinds import table
from longshore.api.types import Obj
from longshore.apiserver.access.tokens import Tokens
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.request.call import INTERNAL, Call, User
from longshore.store import Store
from longshore.store.memory_limits import Limits
from support.fixed_clock import FixedClock


class Server:
    def __init__(self, limits: Limits | None = None) -> None:
        self.clock = FixedClock()
        self.store = Store.open(None, limits=limits)
        tokens = Tokens(self.store, admin_token="root", key=b"k" * 32, clock=self.clock)
        self.api = Api(ApiParts(self.store, self.clock, random.Random(), tokens=tokens))

    def call(
        self,
        plural: str,
        verb: str,
        name: str = "",
        *,
        body: Any = None,
        group: str = "",
        namespace: str = "default",
        user: User = INTERNAL,
        subresource: str = "",
        content_type: str = "application/json",
        **query: str,
    ) -> Call:
        resource = table.find(group, "v1", plural)
        assert resource is not None
        return Call(
            resource,
            verb,
            namespace if resource.namespaced else "",
            name,
            subresource,
            {key.rstrip("_"): [value] for key, value in query.items()},
            user,
            "tests/1.0",
            b"" if body is None else json.dumps(body).encode(),
            content_type,
        )

    async def create(self, plural: str, body: Obj, **how: Any) -> Obj:
        answer = await self.api.written(self.call(plural, "create", how.pop("name", ""), body=body, **how))
        return answer.view()

    async def get(self, plural: str, name: str, **how: Any) -> Obj:
        return (await self.api.found(self.call(plural, "get", name, **how))).view()

    async def patch(self, plural: str, name: str, body: Obj, **how: Any) -> Obj:
        how.setdefault("content_type", "application/merge-patch+json")
        return (await self.api.written(self.call(plural, "patch", name, body=body, **how))).view()

    async def delete(self, plural: str, name: str, **how: Any) -> None:
        await self.api.written(self.call(plural, "delete", name, **how))

    async def names(self, plural: str, **how: Any) -> list[str]:
        answer = await self.api.list(self.call(plural, "list", **how))
        return [e.key.name for e in answer.entries]


MakeServer = Callable[..., Awaitable[Server]]


@pytest.fixture
async def make_server() -> MakeServer:
    async def make(limits: Limits | None = None) -> Server:
        server = Server(limits)
        await server.create("namespaces", {"metadata": {"name": "default"}})
        return server

    return make


@pytest.fixture
async def server(make_server: MakeServer) -> Server:
    return await make_server()
