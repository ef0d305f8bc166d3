"""An API over an empty store, and raw requests to it, for tests of what clients see over HTTP."""

from __future__ import annotations

import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from longshore.apiserver.access.tokens import Tokens
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.documents.own_group import MadeDocument
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.store import Store


@dataclass(slots=True)
class Answer:
    code: int
    body: Any
    warning: str

    @property
    def message(self) -> str:
        text: str = self.body["message"]
        return text


@dataclass(slots=True)
class Server:
    api: Api
    client: LocalClient

    async def send(self, method: str, path: str, body: Any = None, **options: str) -> Answer:
        """One request. `type` is the media type of its body, `accept` the wanted one; the rest is query."""
        headers = {"Content-Type": options.pop("type", "application/json")}
        if accept := options.pop("accept", ""):
            headers["Accept"] = accept
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        response = await self.client.request(method, path, query=options, body=raw, headers=headers)
        is_json = "json" in response.headers.get("content-type", "")
        parsed = json.loads(response.body) if is_json and response.body else response.body
        return Answer(response.code, parsed, response.headers.get("warning", ""))


@asynccontextmanager
async def api_in_memory(
    *, documents: tuple[MadeDocument, ...] = (), with_tokens: bool = False
) -> AsyncIterator[Server]:
    """A server with one namespace, `default`."""
    store = Store.open(None)
    tokens = Tokens(store, admin_token="x", key=b"k" * 32, clock=time.time) if with_tokens else None
    api = Api(ApiParts(store, RealClock(), random.Random(), tokens=tokens, documents=documents))
    client = LocalClient(api, manager="tester")
    await client.create(("v1", "Namespace"), {"metadata": {"name": "default"}})
    yield Server(api, client)
    await store.close()
