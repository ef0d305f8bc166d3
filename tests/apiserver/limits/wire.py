"""A server with little patience, and clients that send it exactly the bytes they want."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from longshore.apiserver.http.timeouts import Timeouts
from longshore.store import Store
from longshore.up import running as up
from longshore.up.options import Options

MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass
class Wire:
    """Where the server is, and who may talk to it."""

    host: str
    port: int
    tls: ssl.SSLContext
    token: str
    store: Store
    folder: Path
    """The data directory."""
    _opened: list[asyncio.StreamWriter] = field(default_factory=list)

    async def open(self, limit: int = 1 << 24) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection, closed at the end of the test at the latest. Twice the limit is read unasked."""
        reader, writer = await asyncio.open_connection(self.host, self.port, ssl=self.tls, limit=limit)
        self._opened.append(writer)
        return reader, writer

    def close(self) -> None:
        for writer in self._opened:
            writer.transport.abort()

    def head(self, method: str, target: str, **headers: str) -> bytes:
        """A request's head with credentials; header names are written with underscores."""
        lines = {"Host": "localhost", "Authorization": f"Bearer {self.token}"}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        text = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
        return text.encode() + b"\r\n"

    async def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
        """One request on a connection of its own: status and document."""
        head = self.head(method, target, Connection="close", Content_Length=str(len(body)), **headers)
        return await self.exchange(head + body)

    async def exchange(self, request: bytes) -> tuple[int, Any]:
        reader, writer = await self.open()
        try:
            writer.write(request)
            async with asyncio.timeout(10):
                return await answer(reader, headless=request.startswith(b"HEAD "))
        finally:
            writer.transport.abort()

    async def is_well(self) -> None:
        """Others are served as if nothing had happened."""
        began = asyncio.get_running_loop().time()
        code, _ = await self.ask("GET", "/api/v1/namespaces/default")
        assert code == 200
        assert asyncio.get_running_loop().time() - began < 2


async def answer(reader: asyncio.StreamReader, *, headless: bool = False) -> tuple[int, Any]:
    """The next answer of a connection; `headless` ones, to HEAD, tell the length of what they leave out."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    if headless:
        return int(head.split()[1]), b""
    lengths = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
    raw = await reader.readexactly(int(lengths[0].partition(":")[2])) if lengths else await reader.read()
    return int(head.split()[1]), json.loads(raw) if raw.startswith(b"{") else raw


async def ends(reader: asyncio.StreamReader, seconds: float = 3) -> bytes:
    """What the server says before it closes the connection. Fails if it does not close it."""
    async with asyncio.timeout(seconds):
        try:
            return await reader.read(-1)
        except (ConnectionError, ssl.SSLError):
            return b""


@asynccontextmanager
async def serving(monkeypatch: pytest.MonkeyPatch, **impatience: float) -> AsyncIterator[Wire]:
    """A longshore in memory; `impatience` replaces some of the seconds of `Timeouts` by shorter ones."""
    short = Timeouts(**impatience)
    monkeypatch.setattr("longshore.apiserver.http.server.Timeouts", lambda: short)
    async with up.running(
        Options(in_memory=True, port=0, controllers=(), node=False, scheduler=False)
    ) as longshore:
        folder: Path = longshore.kubeconfig.parent
        where = urlsplit(longshore.server)
        assert where.hostname
        assert where.port
        tls = ssl.create_default_context(cafile=folder / "pki" / "ca.crt")
        token = (folder / "token").read_text().strip()
        wire = Wire(where.hostname, where.port, tls, token, longshore.api.store, folder)
        try:
            yield wire
        finally:
            wire.close()
