"""A generator of writes: prebuilt requests over many TLS connections, each waiting for its answer.

Reads its wishes as one line of JSON, writes what it found as another:
port, ca, token, kind (of `manifests.py`), first (number of the first object), count, connections,
seconds (0 for "until all are sent"), rate (writes a second; 0 for "as many as possible").
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from collections.abc import Iterator
from typing import Any, cast

import uvloop
from manifests import request_bytes


class Plan:
    """What all connections share: the requests still to send, and when."""

    def __init__(self, requests: Iterator[bytes], rate: float, seconds: float) -> None:
        self.requests = requests
        self._rate = rate
        self._seconds = seconds
        self._drawn = 0
        self._began = self._until = 0.0

    def start(self) -> None:
        self._began = time.perf_counter()
        self._until = self._began + self._seconds if self._seconds else float("inf")

    def due(self) -> float:
        """Seconds until the next request may go; negative when there is none left to send."""
        now = time.perf_counter()
        if now >= self._until:
            return -1.0
        self._drawn += 1
        return max(self._began + self._drawn / self._rate - now, 0.0) if self._rate else 0.0


class Writer(asyncio.Protocol):
    """One connection: sends a request, reads the answer, sends the next."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._buffer = b""
        self._sent = 0.0
        self.spent: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._buffer.index(b"Content-Length: ") + 16
        length = int(self._buffer[at : self._buffer.index(b"\r\n", at)])
        if len(self._buffer) < head + 4 + length:
            return
        if not self._buffer.startswith(b"HTTP/1.1 20"):
            self.done.set_exception(RuntimeError(self._buffer[:500].decode()))
            return
        self._buffer = b""
        self.spent.append(time.perf_counter() - self._sent)
        self.send_next()

    def send_next(self) -> None:
        wait = self._plan.due()
        if wait < 0:
            self._finish()
        elif wait > 0:
            self._loop.call_later(wait, self._send)
        else:
            self._send()

    def _send(self) -> None:
        request = next(self._plan.requests, None)
        if request is None:
            self._finish()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or RuntimeError("the server closed the connection"))


async def main(wishes: dict[str, Any]) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    tls = ssl.create_default_context(cafile=wishes["ca"])
    numbers = range(wishes["first"], wishes["first"] + wishes["count"])
    requests: Iterator[bytes] = (request_bytes(wishes["kind"], number, wishes["token"]) for number in numbers)
    if not wishes["rate"]:
        requests = iter(list(requests))  # built before the clock starts
    plan = Plan(requests, wishes["rate"], wishes["seconds"])
    writers = [Writer(plan) for _ in range(wishes["connections"])]
    for writer in writers:
        await loop.create_connection(lambda w=writer: w, "127.0.0.1", wishes["port"], ssl=tls)  # type: ignore[misc]
    print("ready", flush=True)
    plan.start()
    began = time.perf_counter()
    for writer in writers:
        writer.send_next()
    await asyncio.gather(*(writer.done for writer in writers))
    seconds = time.perf_counter() - began
    spent = sorted(s for writer in writers for s in writer.spent)
    return {
        "count": len(spent),
        "rate": len(spent) / seconds,
        "p50_ms": 1000 * spent[len(spent) // 2],
        "p99_ms": 1000 * spent[len(spent) * 99 // 100],
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(main(json.loads(sys.stdin.readline())))))
