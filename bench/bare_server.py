"""The limit to measure by: event loop, parser and TLS as longshore uses them, and nothing behind them.

`bare_server.py PORT CERTIFICATE ANSWER [LINE]`: every request is read whole and answered with the bytes
in the file ANSWER; `?watch` streams the line in the file LINE, a thousand a second in steps of ten.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
import time
from pathlib import Path

import httptools
import uvloop

HEAD = "Content-Type: application/json\r\nCache-Control: no-cache, private\r\n"


class Bare(asyncio.Protocol):
    def __init__(self, body: bytes, line: bytes) -> None:
        self._body, self._line = body, line
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._streaming: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # of uvloop

    def connection_lost(self, exc: Exception | None) -> None:
        if self._streaming is not None:
            self._streaming.cancel()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._target = url

    def on_message_complete(self) -> None:
        if b"watch" in self._target:
            self._streaming = asyncio.ensure_future(self._stream())
            return
        first = "HTTP/1.1 201 Created" if self._parser.get_method() == b"POST" else "HTTP/1.1 200 OK"
        head = f"{first}\r\n{HEAD}Content-Length: {len(self._body)}\r\n\r\n"
        self._transport.write(head.encode() + self._body)

    async def _stream(self) -> None:
        self._transport.write(f"HTTP/1.1 200 OK\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        loop = asyncio.get_running_loop()
        tick = loop.time()
        while True:
            tick += 0.01
            await asyncio.sleep(max(tick - loop.time(), 0))
            lines = self._line.replace(b"0" * 20, b"%020d" % time.monotonic_ns()) * 10
            self._transport.write(b"%x\r\n%b\r\n" % (len(lines), lines))


async def main(port: int, certificate: str, body: bytes, line: bytes) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: Bare(body, line), "127.0.0.1", port, ssl=tls, backlog=1024)
    await asyncio.Event().wait()


if __name__ == "__main__":
    answer, *line = (Path(name).read_bytes() for name in sys.argv[3:])
    uvloop.run(main(int(sys.argv[1]), sys.argv[2], answer, b"".join(line)))
