"""A generator of reads: one big list again and again, or many watches at once.

Reads its wishes as one line of JSON, writes what it found as another. Lists: port, ca, token, path,
times. Watches: also connections and seconds, counted from the first event.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import sys
import time
from typing import Any, cast

import uvloop

_EVENT = b'"type":"MODIFIED"'
_SENT = re.compile(rb'"sent":"(\d{20})"')


def head(path: str, token: str) -> bytes:
    lines = f"Host: localhost\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n"
    return f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()


async def lists(wishes: dict[str, Any], tls: ssl.SSLContext) -> dict[str, Any]:
    """Milliseconds from the request to the last byte, each on the same connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", wishes["port"], ssl=tls, limit=1 << 26)
    print("ready", flush=True)
    spent, size = [], 0
    for _ in range(wishes["times"]):
        began = time.perf_counter()
        writer.write(head(wishes["path"], wishes["token"]))
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        at = answer.index(b"Content-Length: ") + 16
        size = int(answer[at : answer.index(b"\r\n", at)])
        left = size
        while left:
            left -= len(await reader.read(min(left, 1 << 20)))
        spent.append(1000 * (time.perf_counter() - began))
    writer.transport.abort()
    return {"best_ms": min(spent), "median_ms": sorted(spent)[len(spent) // 2], "bytes": size}


class Watcher(asyncio.Protocol):
    """Counts events; the first one also looks how old they are."""

    def __init__(self, request: bytes, lags: list[float] | None) -> None:
        self._request = request
        self._lags = lags
        self._tail = b""
        self.count = 0
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = loop.create_future()
        self.began: asyncio.Future[None] = loop.create_future()
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.opened.done():
            self.opened.set_result(None)
        data = self._tail + data
        self.count += data.count(_EVENT)
        if self.count and not self.began.done():
            self.began.set_result(None)
        if self._lags is not None:
            now = time.monotonic_ns()
            self._lags += [(now - int(sent)) / 1e6 for sent in _SENT.findall(data)[-1:]]
        self._tail = data[-len(_EVENT) + 1 :]

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True


async def watches(wishes: dict[str, Any], tls: ssl.SSLContext) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    request = head(wishes["path"], wishes["token"])
    lags: list[float] = []
    watchers = [Watcher(request, lags if number == 0 else None) for number in range(wishes["connections"])]
    for watcher in watchers:
        await loop.create_connection(lambda w=watcher: w, "127.0.0.1", wishes["port"], ssl=tls)  # type: ignore[misc]
        await watcher.opened
    print("ready", flush=True)
    await watchers[0].began
    await asyncio.sleep(0.5)  # the first moments count for nobody
    before, began = [watcher.count for watcher in watchers], time.perf_counter()
    lags.clear()
    await asyncio.sleep(wishes["seconds"])
    seconds = time.perf_counter() - began
    rates = sorted((w.count - b) / seconds for w, b in zip(watchers, before, strict=True))
    lags.sort()
    return {
        "slowest": rates[0],
        "mean": sum(rates) / len(rates),
        "lag_p50_ms": lags[len(lags) // 2] if lags else 0.0,
        "lag_p99_ms": lags[len(lags) * 99 // 100] if lags else 0.0,
        "cut_off": sum(watcher.closed for watcher in watchers),
    }


async def main(wishes: dict[str, Any]) -> dict[str, Any]:
    tls = ssl.create_default_context(cafile=wishes["ca"])
    return await (watches if "connections" in wishes else lists)(wishes, tls)


if __name__ == "__main__":
    print(json.dumps(uvloop.run(main(json.loads(sys.stdin.readline())))))
