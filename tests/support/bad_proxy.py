"""A strict HTTP proxy before a running longshore, for controllers outside. It has bad days, by dice.

| fault | what it does |
| --- | --- |
| refused | for some seconds every request is answered 401, as while a token is being replaced |
| lost request | the connection breaks before the server hears of anything |
| lost answer | the server does what it is asked, and the connection breaks before it can say so |
| slow | a request takes half a second longer |
| busy | a request is answered 429, with or without `Retry-After` |
| page | a request is answered 200 with a page of HTML |
| cut | a watch breaks in the middle |
| gone | a watch ends in an ERROR event of code 410 |
| garbage | a watch sends something that is no event, and ends |
| frozen | a watch stays open and says nothing any more |

It passes everything else on as it is: method, path, query, headers but for the credentials, and the body byte
for byte in both directions. A request that is no HTTP is answered 400, and one with other credentials 401.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import yaml

from longshore.client.http.asyncio_driver import HttpConnection
from support.http_calls import calling
from support.http_server import Asked, Reply, json_reply, serving
from support.longshore_process import RunningLongshore

TOKEN: Final = "the-proxy's-own"
_OWN_HEADERS: Final = frozenset(
    ("host", "authorization", "content-length", "transfer-encoding", "connection", "content-encoding")
)
_SLOW_SECONDS: Final = 0.5
_REFUSED: Final = {"kind": "Status", "status": "Failure", "code": 401, "reason": "Unauthorized"}

_BUSY: Final = {"kind": "Status", "status": "Failure", "code": 429, "reason": "TooManyRequests"}
_PAGE: Final = b"<html>\n<head><title>longshore</title></head>\n<body>Please log in.</body>\n</html>\n"
_GONE: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 410,
    "reason": "Expired", "message": "too old resource version"}  # fmt: skip


class BadProxy:
    """`rate` is the share of requests that go wrong, and a quarter of it that of the pieces of a watch: each
    blinds a reader for seconds. Tests turn `refuses` and `freezes` on and off."""

    def __init__(self, longshore: RunningLongshore, seed: int, rate: float) -> None:
        self._longshore, self._dice, self.rate = longshore, random.Random(seed), rate
        self.happened: Counter[str] = Counter()
        self.refuses = False
        self.freezes = False
        self.frozen = asyncio.Event()
        """Set when a watch was frozen."""
        self.url = ""

    def kubeconfig(self, folder: Path) -> Path:
        """A kubeconfig that leads through the proxy."""
        path = folder / "through-the-proxy"
        config = dict(self._longshore.config)
        config["clusters"] = [{"name": "c", "cluster": {"server": self.url}}]
        config["users"] = [{"name": "u", "user": {"token": TOKEN}}]
        config["contexts"] = [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "default"}}]
        path.write_text(yaml.safe_dump(config | {"current-context": "x"}))
        return path

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[BadProxy]:
        longshore = self._longshore
        headers = {"Authorization": f"Bearer {longshore.token}"}
        async with (
            calling(longshore.server, longshore.tls, headers) as self._calls,
            serving(self._answer) as self.url,
        ):
            yield self

    async def _answer(self, request: Asked) -> Reply | None:
        if request.header("Authorization") != f"Bearer {TOKEN}" or self.refuses:
            self.happened["refused"] += 1
            return json_reply(_REFUSED, status=401)
        watches = "watch" in request.query
        fault = self._fault("lost request", "slow", "busy", "page", *(() if watches else ("lost answer",)))
        if fault == "lost request":
            return self._broken(request)
        if fault == "busy":
            headers = {"Retry-After": "1"} if self._dice.random() < 0.5 else {}
            return json_reply(_BUSY, status=429, headers=headers)
        if fault == "page":
            return Reply(_PAGE, headers={"Content-Type": "text/html"})
        if fault == "slow":
            await asyncio.sleep(_SLOW_SECONDS)
        sent = [(name, text) for name, text in request.headers if name.lower() not in _OWN_HEADERS]
        asked = self._calls.request(request.method, request.target, sent, request.body)
        async with self._calls.pool.open(asked) as answer:
            reader = answer.reader
            kept = {name: text for name, text in reader.headers.items() if name not in _OWN_HEADERS}
            if not watches or reader.code != 200:
                found = await answer.read_all()
                if fault == "lost answer":
                    return self._broken(request)
                return Reply(found, reader.code, kept)
            return await self._stream(request, answer, kept)

    async def _stream(self, request: Asked, answer: HttpConnection, headers: dict[str, str]) -> Reply | None:
        await request.begin(answer.reader.code, headers)
        is_whole = True
        async for chunk in answer:
            if self.freezes:
                self.frozen.set()
                await asyncio.Event().wait()
            fault = self._fault("cut", "gone", "garbage", rate=self.rate / 4)
            if fault == "cut":
                return self._broken(request)
            if fault and not is_whole:
                return self._broken(request)  # nothing can be said in the middle of a line
            if fault:
                gone = json.dumps({"type": "ERROR", "object": _GONE}).encode() + b"\n"
                await request.write(gone if fault == "gone" else _PAGE)
                return None
            is_whole = chunk.endswith(b"\n")
            await request.write(chunk)
        return None

    def _fault(self, *faults: str, rate: float | None = None) -> str:
        if self._dice.random() >= (self.rate if rate is None else rate):
            return ""
        fault = self._dice.choice(faults)
        self.happened[fault] += 1
        return fault

    def _broken(self, request: Asked) -> None:
        request.abort()
