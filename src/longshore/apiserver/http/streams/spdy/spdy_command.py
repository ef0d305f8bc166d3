"""A client of exec or attach over SPDY: streams for error, stdin, stdout, stderr and resize."""

from __future__ import annotations

import asyncio
import codecs
from typing import Final, Literal

from longshore.api.container_streams import Session
from longshore.api.types import Obj, encode
from longshore.apiserver.http.open_streams import cancelled
from longshore.apiserver.http.streams.duplex import Duplex
from longshore.apiserver.http.streams.remote_command import size_of
from longshore.apiserver.http.streams.spdy.spdy_connection import SpdyConnection, Stream
from longshore.apiserver.subresources.link import Streams

VERSIONS: Final = {
    "v4.channel.k8s.io": 4,
    "v3.channel.k8s.io": 3,
    "v2.channel.k8s.io": 2,
    "channel.k8s.io": 1,
}
"""Protocols, the best first. From version 3 terminals can be resized, from 4 on the error is a Status."""


class SpdyTerminal:
    def __init__(self, duplex: Duplex, version: int, streams: Streams) -> None:
        self._version = version
        wanted = {"stdin": streams.stdin, "stdout": streams.stdout, "stderr": streams.stderr}
        self._expected = {"error", *(name for name, is_wanted in wanted.items() if is_wanted)}
        if streams.tty and version >= 3:
            self._expected.add("resize")
        self._streams: dict[str, Stream] = {}
        self._complete = asyncio.Event()
        self._spdy = SpdyConnection(duplex, self._opened)
        self._running = asyncio.ensure_future(self._spdy.run())

    async def ready(self, seconds: float) -> bool:
        """Waits for the client to open all its streams; False when it does not."""
        complete = asyncio.ensure_future(self._complete.wait())
        try:
            await asyncio.wait(
                (complete, self._running), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            complete.cancel()
        return self._complete.is_set()

    def _opened(self, stream: Stream) -> None:
        name = stream.headers.get("streamtype", "")
        if name not in ("stdin", "resize"):
            stream.ignore()
        self._streams[name] = stream
        if self._expected <= self._streams.keys():
            self._complete.set()

    async def send(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        await self._streams[stream].write(data)

    async def listen(self, session: Session) -> None:
        tasks = []
        if "stdin" in self._expected:
            tasks.append(asyncio.ensure_future(_input(self._streams["stdin"], session)))
        if "resize" in self._expected:
            tasks.append(asyncio.ensure_future(_sizes(self._streams["resize"], session)))
        try:
            await asyncio.shield(self._running)
        finally:
            await cancelled(tasks)

    async def finish(self, status: Obj) -> None:
        error = self._streams["error"]
        if self._version >= 4:
            await error.write(encode(status))
        elif status["status"] != "Success":
            await error.write(status["message"].encode())
        for stream in self._streams.values():
            await stream.finish()
        await self._spdy.close()

    async def close(self) -> None:
        """Stops reading, whatever happened before."""
        await cancelled([self._running])


async def _input(stream: Stream, session: Session) -> None:
    while data := await stream.read():
        await session.write(data)
    if not stream.reset:
        await session.close_input()


async def _sizes(stream: Stream, session: Session) -> None:
    """Reads resize messages: JSON objects one after the other, split anywhere."""
    import json

    decode, text = codecs.getincrementaldecoder("utf-8")("replace"), ""
    while data := await stream.read():
        text += decode.decode(data)
        while text := text.lstrip():
            try:
                message, end = json.JSONDecoder().raw_decode(text)
            except ValueError:
                break
            text = text[end:]
            size = size_of(message) if isinstance(message, dict) else None
            if size is not None:
                await session.resize(*size)
        if len(text) > 4096:
            return
