"""HTTP by hand over TLS: sends exactly the bytes it is given and reads whatever comes back."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class RawConnection:
    """One connection, opened on first use and again after the server closed it."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext) -> None:
        self._where = host, port, tls
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes, *, head_only: bool = False) -> Answer:
        """One request and its answer; a stream's answer (`head_only`) is cut off after its head."""
        reader, writer = await self._open()
        writer.write(request)
        answer, reusable = await _read(reader, head_only=head_only, headless=request.startswith(b"HEAD "))
        if not reusable:
            await self.close()
        return answer

    async def close(self) -> None:
        if self._streams is not None:
            writer, self._streams = self._streams[1], None
            writer.transport.abort()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None or self._streams[0].at_eof():
            host, port, tls = self._where
            self._streams = await asyncio.open_connection(host, port, ssl=tls, limit=1 << 24)
        return self._streams


async def _read(reader: asyncio.StreamReader, *, head_only: bool, headless: bool) -> tuple[Answer, bool]:
    """The answer, and whether the connection can take another request."""
    head = await reader.readuntil(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    status = int(status_line.split()[1])
    headers = {}
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    stays = status_line.startswith("HTTP/1.1") and headers.get("connection", "").lower() != "close"
    if headless or status in (204, 304):
        return Answer(status, headers, b""), stays
    if headers.get("transfer-encoding") == "chunked":
        if head_only:
            return Answer(status, headers, b""), False
        return Answer(status, headers, await _chunks(reader)), stays
    body = await reader.readexactly(int(headers["content-length"])) if "content-length" in headers else b""
    return Answer(status, headers, body), stays and "content-length" in headers


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    out = b""
    while size := int(await reader.readline(), 16):
        out += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return out
