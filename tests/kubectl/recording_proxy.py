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
from urllib.parse import unquote

from support.http_calls import CUT_OFF, calling
from support.http_server import Asked, Reply, json_reply, serving
from support.longshore_process import RunningLongshore

# Belong to one connection, not to the message (RFC 9110, 7.6.1).
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "host", "content-length"}
# The answers are unpacked here; the credentials are this proxy's own.
_OWN = {"authorization", "content-encoding"}

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
    """0 until longshore begins to answer."""


class RecordingProxy:
    def __init__(self, longshore: RunningLongshore, *, watch_list: bool = True) -> None:
        self._longshore, self._watch_list = longshore, watch_list
        self._answered = threading.Condition()
        self.seen: list[Seen] = []
        self.url = ""

    def wait_for(self, asked: Callable[[Seen], bool], unless: Callable[[], bool] = lambda: False) -> None:
        """Until longshore has begun to answer such a request, or there is no sense in waiting any longer."""
        deadline = time.monotonic() + 60
        while not any(seen.status and asked(seen) for seen in self.seen) and not unless():
            assert time.monotonic() < deadline, f"the request that was waited for is not among {self.seen}"
            with self._answered:
                self._answered.wait(0.05)

    async def _handle(self, request: Asked) -> Reply | None:
        query = request.query
        entry = Seen(
            request.method,
            unquote(request.path),
            query,
            request.header("Accept"),
            request.header("Content-Type"),
            request.body,
        )
        self.seen.append(entry)
        if "sendInitialEvents" in query and not self._watch_list:
            entry.status = 422
            return json_reply(_NO_WATCH_LIST, status=422)
        headers = [(name, text) for name, text in request.headers if name.lower() not in _HOP_BY_HOP | _OWN]
        asked = self._calls.request(request.method, request.target, headers, entry.body)
        async with self._calls.pool.open(asked) as answer:
            reader = answer.reader
            passed = {name: text for name, text in reader.headers.items() if name not in _HOP_BY_HOP | _OWN}
            # Before the answer is passed on: kubectl may end with it, and its requests are compared then.
            with self._answered:
                entry.status = reader.code
                self._answered.notify_all()
            await request.begin(reader.code, passed)
            # Either side may go away in the middle of a watch; that is how watches end.
            with contextlib.suppress(*CUT_OFF):
                async for chunk in answer:
                    await request.write(chunk)
        return None

    async def _serve(self, ready: threading.Event, stop: asyncio.Event) -> None:
        longshore = self._longshore
        headers = {"Authorization": f"Bearer {longshore.token}"}
        async with (
            calling(longshore.server, longshore.tls, headers) as self._calls,
            serving(self._handle) as self.url,
        ):
            ready.set()
            await stop.wait()


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
