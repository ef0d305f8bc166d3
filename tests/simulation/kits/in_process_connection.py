"""The part of an `http.client.HTTPSConnection` that the runners use, to an API in the same process."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from longshore.api.errors import StatusError
from longshore.client import WatchEvent
from longshore.client.local import LocalClient
from simulation.kits import strands


class Connection:
    """One request after the other, or one watch. `sock` is itself, for whoever shuts it down."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._asked: tuple[str, str, bytes, Mapping[str, str]] = ("", "", b"", {})
        self._watch: Watch | None = None
        self.sock = self

    def request(
        self, method: str, target: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self._asked = method, target, body or b"", headers or {}

    def getresponse(self) -> Answer | Watch:
        method, target, body, headers = self._asked
        path, _, text = target.partition("?")
        query = dict(parse_qsl(text, keep_blank_values=True))
        if query.get("watch") == "1":
            self._watch = Watch(self._client, path, query)
            return self._watch
        return Answer(
            strands.wait_for(self._client.request(method, path, query=query, body=body, headers=headers))
        )

    def shutdown(self, how: int) -> None:
        self.close()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.stop()


class Answer:
    def __init__(self, found: Any) -> None:
        self.status: int = found.code
        self._body: bytes = found.body
        self.headers = http.client.HTTPMessage()
        for name, value in found.headers.items():
            self.headers[name] = value

    def read(self) -> bytes:
        return self._body


class Watch:
    """The lines of a watch. It ends when the connection is closed."""

    status = 200

    def __init__(self, client: LocalClient, path: str, query: Mapping[str, str]) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        # /api/v1/… or /apis/GROUP/VERSION/…, then namespaces/NAME/ or nothing, then the plural.
        parts = path.strip("/").split("/")
        at = 2 if parts[0] == "api" else 3
        what = "/".join(parts[1:at]), parts[-1]
        namespace = parts[at + 1] if parts[at] == "namespaces" and len(parts) > at + 1 else ""
        self._task = strands.loop().create_task(self._follow(client, what, namespace, query))

    def readline(self) -> bytes:
        """The next event, or nothing at the end."""
        return strands.wait_for(self._lines.get())

    def read(self) -> bytes:
        return b""

    def stop(self) -> None:
        self._task.cancel()

    async def _follow(
        self, client: LocalClient, what: tuple[str, str], namespace: str, query: Mapping[str, str]
    ) -> None:
        try:
            with contextlib.suppress(StatusError):
                async with client.watch(what, namespace, resource_version=query["resourceVersion"]) as events:
                    await self._tell(events)
        finally:
            self._lines.put_nowait(b"")

    async def _tell(self, events: AsyncIterator[WatchEvent]) -> None:
        async for event in events:
            line = msgspec.json.encode({"type": event.type, "object": event.object})
            self._lines.put_nowait(line + b"\n")
