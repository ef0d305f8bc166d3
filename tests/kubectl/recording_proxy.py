"""Stands between kubectl and longshore and writes down what is asked and which status is answered.

Plain HTTP towards kubectl, which is how the recordings were made; TLS and the token towards longshore.
Answers are passed on as they come, watches included. No upgrades: exec and its kin are out of scope.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from support.longshore_process import RunningLongshore

# Belong to one connection, not to the message (RFC 9110, 7.6.1).
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "host", "content-length"}

_NO_WATCH_LIST = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "reason": "Invalid",
    "code": 422,
    "message": 'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: '
    "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
}


@dataclass
class Seen:
    method: str
    path: str
    query: dict[str, str]
    accept: str
    content_type: str
    body: bytes
    status: int = 0
    """0 until the answer begins."""


class RecordingProxy:
    def __init__(self, longshore: RunningLongshore, *, watch_list: bool = True) -> None:
        self._longshore, self._watch_list = longshore, watch_list
        self._answered = threading.Condition()
        self.seen: list[Seen] = []
        self.url = ""

    def wait_for(self, asked: Callable[[Seen], bool], unless: Callable[[], bool] = lambda: False) -> None:
        """Until the answer to such a request has begun, or there is no sense in waiting any longer."""
        deadline = time.monotonic() + 60
        while not any(seen.status and asked(seen) for seen in self.seen) and not unless():
            assert time.monotonic() < deadline, f"the request that was waited for is not among {self.seen}"
            with self._answered:
                self._answered.wait(0.05)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        entry = Seen(
            request.method,
            request.path,
            dict(request.query),
            request.headers.get("Accept", ""),
            request.headers.get("Content-Type", ""),
            await request.read(),
        )
        self.seen.append(entry)
        if "sendInitialEvents" in request.query and not self._watch_list:
            entry.status = 422
            return web.json_response(_NO_WATCH_LIST, status=422)
        headers = CIMultiDict((k, v) for k, v in request.headers.items() if k.lower() not in _HOP_BY_HOP)
        headers["Authorization"] = f"Bearer {self._longshore.token}"
        async with self._session.request(
            request.method,
            self._longshore.server + request.raw_path,
            data=entry.body or None,
            headers=headers,
            ssl=self._longshore.tls,
            skip_auto_headers=("Content-Type", "User-Agent", "Accept", "Accept-Encoding"),
        ) as answer:
            passed = CIMultiDict((k, v) for k, v in answer.headers.items() if k.lower() not in _HOP_BY_HOP)
            response = web.StreamResponse(status=answer.status, headers=passed)
            await response.prepare(request)
            with self._answered:
                entry.status = answer.status
                self._answered.notify_all()
            # Either side may go away in the middle of a watch; that is how watches end.
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
            return response

    async def _serve(self, ready: threading.Event, stop: asyncio.Event) -> None:
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(auto_decompress=False, timeout=timeout) as self._session:
            # A watch whose client has gone must not be waited for.
            server = web.Server(self._handle, access_log=None, handler_cancellation=True)
            runner = web.ServerRunner(server, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            ready.set()
            await stop.wait()
            await runner.cleanup()


@contextlib.contextmanager
def recording(longshore: RunningLongshore, *, watch_list: bool = True) -> Iterator[RecordingProxy]:
    """A proxy that serves in a thread of its own for as long as the block lasts. Without `watch_list` it
    refuses watches that begin with what exists, as a Kubernetes without that feature does.
    """
    proxy, ready = RecordingProxy(longshore, watch_list=watch_list), threading.Event()
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(proxy._serve(ready, stop),))
    thread.start()
    try:
        assert ready.wait(10)
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
