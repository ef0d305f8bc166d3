"""A strict HTTP proxy before a running longshore, for controllers outside. It has bad days, by dice.

| fault | what it does |
| --- | --- |
| refused | for some seconds every request is answered 401, as while a token is being replaced |
| lost request | the connection breaks before the server hears of anything |
| lost answer | the server does what it is asked, and the connection breaks before it can say so |
| slow | a request takes half a second longer |
| cut | a watch breaks in the middle |
| frozen | a watch stays open and says nothing any more |

It passes everything else on as it is: method, path, query, headers but for the credentials, and the body byte
for byte in both directions. A request that is no HTTP is answered 400, and one with other credentials 401.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from support.longshore_process import RunningLongshore

TOKEN: Final = "the-proxy's-own"
_OWN_HEADERS: Final = frozenset(
    ("host", "authorization", "content-length", "transfer-encoding", "connection")
)
_SLOW_SECONDS: Final = 0.5
_REFUSED: Final = {"kind": "Status", "status": "Failure", "code": 401, "reason": "Unauthorized"}


class BadProxy:
    """`rate` is how many of a hundred requests go wrong. Tests turn `refuses` and `freezes` on and off."""

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
        connector = aiohttp.TCPConnector(ssl=self._longshore.tls, limit=0)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
            self._session = session
            runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            server = site._server  # aiohttp tells the port nowhere else
            assert isinstance(server, asyncio.Server)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            try:
                yield self
            finally:
                await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}" or self.refuses:
            self.happened["refused"] += 1
            return web.json_response(_REFUSED, status=401)
        body, watches = await request.read(), "watch" in request.query
        fault = self._fault("lost request", "slow", *(() if watches else ("lost answer",)))
        if fault == "lost request":
            return self._broken(request)
        if fault == "slow":
            await asyncio.sleep(_SLOW_SECONDS)
        sent = {name: text for name, text in request.headers.items() if name.lower() not in _OWN_HEADERS}
        async with self._session.request(
            request.method,
            URL(self._longshore.server + request.raw_path, encoded=True),
            headers=sent | {"Authorization": f"Bearer {self._longshore.token}"},
            data=body or None,
            skip_auto_headers=("Content-Type",),
        ) as answer:
            kept = {name: text for name, text in answer.headers.items() if name.lower() not in _OWN_HEADERS}
            if not watches or answer.status != 200:
                found = await answer.read()
                if fault == "lost answer":
                    return self._broken(request)
                return web.Response(body=found, status=answer.status, headers=kept)
            return await self._stream(request, answer, kept)

    async def _stream(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, headers: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        async for chunk in answer.content.iter_any():
            if self.freezes:
                self.frozen.set()
                await asyncio.Event().wait()
            if self._fault("cut"):
                return self._broken(request)
            try:
                await response.write(chunk)
            except ConnectionError:  # the controllers closed it
                return response
        return response

    def _fault(self, *faults: str) -> str:
        if self._dice.random() >= self.rate:
            return ""
        fault = self._dice.choice(faults)
        self.happened[fault] += 1
        return fault

    def _broken(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=500)
