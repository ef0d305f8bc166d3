"""The server's end of a SPDY connection: the client opens streams, both write, each ends its own side."""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from typing import Final

from longshore.apiserver.http.streams.duplex import Duplex, Turns
from longshore.apiserver.http.streams.spdy import spdy_frames as frames

_UNREAD_BYTES: Final = 1 << 18
"""Bytes a stream may hold unread before the whole connection waits. Kubernetes' clients do not use SPDY's
windows, so one slow stream holds up the others, as upstream."""
_FRAME_BYTES: Final = 1 << 16
_MAX_STREAMS: Final = 1024


class Stream:
    """One stream. `headers` are those it was opened with, names in lower case."""

    def __init__(self, connection: SpdyConnection, number: int, headers: dict[str, str]) -> None:
        self.number, self.headers = number, headers
        self._connection = connection
        self._held: deque[bytes] = deque()
        self._size = 0
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._ignored = False
        self.ended = False
        """Whether the client will send nothing more."""
        self.reset = False
        self._finished = False

    async def read(self) -> bytes:
        """The next bytes; none at the end."""
        while not self._held:
            if self.ended:
                return b""
            self._changed.clear()
            await self._changed.wait()
        data = self._held.popleft()
        self._size -= len(data)
        if self._size < _UNREAD_BYTES:
            self._room.set()
        return data

    def ignore(self) -> None:
        """Drops incoming data from now on."""
        self._ignored = True
        self._held.clear()
        self._room.set()

    async def write(self, data: bytes) -> None:
        """Sends data, unless this side has finished the stream or the client has reset it."""
        for at in range(0, len(data), _FRAME_BYTES):
            if self._finished or self.reset:
                return
            await self._connection.send(frames.data(self.number, data[at : at + _FRAME_BYTES]))

    async def finish(self) -> None:
        """Ends this side of the stream."""
        if not self._finished and not self.reset:
            self._finished = True
            await self._connection.send(frames.data(self.number, b"", frames.FIN))
        self._connection.forget(self)

    async def feed(self, data: bytes) -> None:
        if data and not self._ignored and not self.ended:
            self._held.append(data)
            self._size += len(data)
            self._changed.set()
            if self._size >= _UNREAD_BYTES:
                self._room.clear()
                await self._room.wait()

    def end(self, *, reset: bool = False) -> None:
        self.ended = True
        self.reset = self.reset or reset
        self._changed.set()
        self._room.set()
        self._connection.forget(self)

    @property
    def over(self) -> bool:
        return self.reset or (self.ended and self._finished)


class SpdyConnection:
    """All streams of one connection. `opened` is called with each stream that the client opens."""

    def __init__(self, duplex: Duplex, opened: Callable[[Stream], None]) -> None:
        self._duplex, self._opened = duplex, opened
        self._headers = frames.Headers()
        self._streams: dict[int, Stream] = {}
        self._writing = asyncio.Lock()

    async def run(self) -> None:
        """Reads until the client has gone, or sends invalid frames."""
        reader, turns = frames.Reader(), Turns()
        try:
            while data := await self._duplex.read():
                for frame in reader.feed(data):
                    await turns.next()
                    if isinstance(frame, frames.Data):
                        await self._data(frame)
                    elif not await self._control(frame):
                        return
        except (ConnectionError, frames.BadFrame):
            return
        finally:
            for stream in list(self._streams.values()):
                stream.end(reset=True)

    async def send(self, frame: bytes) -> None:
        async with self._writing:
            await self._duplex.write(frame)

    async def close(self) -> None:
        """Sends GOAWAY, and closes."""
        try:
            last = max(self._streams, default=0)
            await self.send(frames.control(frames.GOAWAY, struct.pack(">II", last, 0)))
        except ConnectionError:
            pass
        await self._duplex.close()

    def forget(self, stream: Stream) -> None:
        if stream.over:
            self._streams.pop(stream.number, None)

    async def _data(self, frame: frames.Data) -> None:
        stream = self._streams.get(frame.stream)
        if stream is None:
            return
        await stream.feed(frame.body)
        if frame.flags & frames.FIN:
            stream.end()

    async def _control(self, frame: frames.Control) -> bool:
        """Handles a control frame; False after GOAWAY."""
        match frame.type:
            case frames.SYN_STREAM:
                await self._open(frame)
            case frames.SYN_REPLY | frames.HEADERS:
                self._headers.unpack(frame.body[4:])  # both ends' zlib states must stay the same
            case frames.RST_STREAM:
                stream = self._streams.get(frames.stream_id(frame.body))
                if stream is not None:
                    stream.end(reset=True)
            case frames.PING:
                await self.send(frames.control(frames.PING, frame.body))
            case frames.GOAWAY:
                return False
        return True

    async def _open(self, frame: frames.Control) -> None:
        number = frames.stream_id(frame.body)
        headers = self._headers.unpack(frame.body[10:])
        if len(self._streams) >= _MAX_STREAMS or number in self._streams:
            await self.send(frames.control(frames.RST_STREAM, struct.pack(">II", number, frames.CANCEL)))
            return
        stream = self._streams[number] = Stream(self, number, headers)
        await self.send(frames.control(frames.SYN_REPLY, struct.pack(">I", number) + self._headers.pack({})))
        if frame.flags & frames.FIN:
            stream.end()
        self._opened(stream)
