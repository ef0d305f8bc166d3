"""A server with little patience, and clients that send it exactly the bytes they want."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from longshore.apiserver.http import patience
from longshore.store import Store
from longshore.up import running as up
from longshore.up.options import Options

MAPS = "/api/v1/namespaces/default/configmaps"
QUICK = patience.Patience(head=0.3, body=0.3, stuck=0.3, idle=0.5)


@dataclass
class Wire:
    """Where the server is, and who may talk to it."""

    host: str
    port: int
    tls: ssl.SSLContext
    token: str
    store: Store

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port, ssl=self.tls, limit=1 << 24)

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

    async def exchange(self, request: bytes, seconds: float = 10) -> tuple[int, Any]:
        reader, writer = await self.open()
        try:
            writer.write(request)
            async with asyncio.timeout(seconds):
                return await answer(reader)
        finally:
            writer.transport.abort()

    async def is_well(self) -> None:
        """Others are served as if nothing had happened."""
        assert await self.ask("GET", MAPS + "?limit=1") != (0, None)
        began = asyncio.get_running_loop().time()
        code, _ = await self.ask("GET", "/api/v1/namespaces/default")
        assert code == 200
        assert asyncio.get_running_loop().time() - began < 2


async def answer(reader: asyncio.StreamReader) -> tuple[int, Any]:
    """The next answer of a connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
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
    """A longshore in memory; `impatience` replaces the seconds of `Patience` by shorter ones."""
    short = patience.Patience(**impatience)
    monkeypatch.setattr("longshore.apiserver.http.server.Patience", lambda: short)
    async with up.running(Options(in_memory=True, port=0, controllers=())) as longshore:
        folder: Path = longshore.kubeconfig.parent
        where = urlsplit(longshore.server)
        assert where.hostname
        assert where.port
        yield Wire(
            where.hostname,
            where.port,
            ssl.create_default_context(cafile=folder / "pki" / "ca.crt"),
            (folder / "token").read_text().strip(),
            longshore.api.store,
        )
