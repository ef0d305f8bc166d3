"""Exec and attach of the process runtime, as sessions on connections of their own to the keeper.

An exec's pipes are made here: the far ends go to the keeper, which gives them to the command. A terminal is
opened by the keeper, in the container's namespaces, and its near end is sent here. The bytes never pass
through the keeper. An attached session gets the output from the keeper, and gets the near end of the
container's input.

An exec waits while its output is not read. A container never does: an attached session that is not read
pauses, and the keeper drops what does not fit its buffer.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import struct
import termios
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Literal

from longshore.node.keeper import frames
from longshore.node.runtime import CannotStart
from longshore.node.runtimes.process_link import KeeperGone, packed

_CHUNK_BYTES = 1 << 16
_MAX_QUEUED_CHUNKS = 16  # chunks in the queue at which reading pauses
_END_OF_INPUT = b"\x04"  # what a terminal understands as its end

Stream = Literal["stdout", "stderr"]


class ProcessSession:
    """One session. `begin_exec` or `begin_attach` begins it."""

    def __init__(self, sock: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._unpacker = frames.Unpacker()
        self._received: list[int] = []
        self._answer: asyncio.Future[Any] = self._loop.create_future()
        self._exit: asyncio.Future[int] = self._loop.create_future()
        self._streams: dict[int, Stream] = {}
        self._paused: dict[int, Callable[[], None]] = {}
        """Descriptors that are not listened to until the reader has read, each with its listener."""
        self._queue: asyncio.Queue[tuple[Stream, bytes] | None] = asyncio.Queue()
        self._input = -1
        self._terminal = -1
        self._attached = ""
        self._loop.add_reader(sock.fileno(), self._heard)

    # The beginnings

    async def begin_exec(self, key: str, command: tuple[str, ...], *, stdin: bool, tty: bool) -> None:
        far: list[int] = []
        if not tty:
            if stdin:
                read, self._input = os.pipe2(os.O_CLOEXEC)
                far.append(read)
            for name in ("stdout", "stderr"):
                near, write = os.pipe2(os.O_CLOEXEC)
                self._streams[near] = name
                far.append(write)
        try:
            request = packed(("exec", 1, (key, list(command), tty, stdin)))
            sent = socket.send_fds(self._sock, [request], far)
            if sent < len(request):  # a command longer than the socket's buffer
                await self._loop.sock_sendall(self._sock, request[sent:])
            await self._begun()
        finally:
            for fd in far:
                os.close(fd)
        if tty:
            self._terminal = self._received.pop(0)
            self._streams[self._terminal] = "stdout"
            self._input = self._terminal if stdin else -1
        if self._input >= 0:
            os.set_blocking(self._input, False)
        for fd in self._streams:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._readable, fd)

    async def begin_attach(self, key: str) -> None:
        self._attached = key
        self._sock.send(frames.pack(("attach", 1, key)))
        has = await self._begun()
        if has["stdin"]:
            self._input = self._received.pop(0)
            if has["tty"]:
                self._terminal = self._input

    async def _begun(self) -> Any:
        try:
            return await self._answer
        except BaseException:
            await self.close()
            raise

    # Session

    async def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view and self._input >= 0:
            try:
                view = view[os.write(self._input, view) :]
            except BlockingIOError:
                await self._writable(self._input)
            except OSError:
                return  # it has closed its input, or ended

    async def close_input(self) -> None:
        if self._input < 0:
            return
        if self._input == self._terminal:
            await self.write(_END_OF_INPUT)
            return
        os.close(self._input)
        self._input = -1
        if self._attached:
            with contextlib.suppress(OSError):
                self._sock.send(frames.pack(("close_input", 2, self._attached)))

    async def resize(self, width: int, height: int) -> None:
        if self._terminal >= 0:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    async def output(self) -> AsyncIterator[tuple[Stream, bytes]]:
        while (item := await self._queue.get()) is not None:
            yield item
            if self._paused and self._queue.qsize() < _MAX_QUEUED_CHUNKS // 2:
                for fd, listen in self._paused.items():
                    self._loop.add_reader(fd, listen)
                self._paused.clear()
        self._queue.put_nowait(None)

    async def wait(self) -> int:
        return await asyncio.shield(self._exit)

    async def close(self) -> None:
        if self._sock.fileno() < 0:
            return
        self._loop.remove_reader(self._sock.fileno())
        self._paused.pop(self._sock.fileno(), None)
        self._sock.close()
        for fd in list(self._streams):
            self._end_stream(fd)
        if self._input >= 0:
            self._loop.remove_writer(self._input)
            os.close(self._input)
        if self._terminal >= 0 and self._terminal != self._input:
            os.close(self._terminal)
        self._input = self._terminal = -1
        self._queue.put_nowait(None)
        if not self._exit.done():
            self._exit.cancel()

    # What happens

    def _heard(self) -> None:
        if (found := frames.received(self._sock)) is None:
            return
        data, descriptors = found
        self._received += descriptors
        if not data:
            self._loop.remove_reader(self._sock.fileno())
            self._failed(KeeperGone("the keeper ended"))
            return
        for op, number, payload in self._unpacker.feed(data):
            if op == "out":
                self._queue.put_nowait(("stdout", payload))
            elif op == "exit":
                if not self._exit.done():
                    self._exit.set_result(payload)
                if self._attached:
                    self._queue.put_nowait(None)
            elif number == 1 and not self._answer.done():
                if op == "ok":
                    self._answer.set_result(payload)
                else:
                    self._answer.set_exception(CannotStart(*payload))
        if self._attached:
            self._pause_when_full(self._sock.fileno(), self._heard)

    def _failed(self, problem: Exception) -> None:
        for future in (self._answer, self._exit):
            if not future.done():
                future.set_exception(problem)
                future.exception()  # marks it as retrieved
        self._queue.put_nowait(None)

    def _readable(self, fd: int) -> None:
        try:
            data = os.read(fd, _CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # a terminal says its end by EIO
        if data:
            self._queue.put_nowait((self._streams[fd], data))
            self._pause_when_full(fd, partial(self._readable, fd))
            return
        self._end_stream(fd)
        if not self._streams:
            self._queue.put_nowait(None)

    def _pause_when_full(self, fd: int, listen: Callable[[], None]) -> None:
        if self._queue.qsize() >= _MAX_QUEUED_CHUNKS:
            self._loop.remove_reader(fd)
            self._paused[fd] = listen

    def _end_stream(self, fd: int) -> None:
        self._loop.remove_reader(fd)
        self._paused.pop(fd, None)
        del self._streams[fd]
        if fd != self._terminal:
            os.close(fd)

    async def _writable(self, fd: int) -> None:
        ready = asyncio.Event()
        self._loop.add_writer(fd, ready.set)
        try:
            await ready.wait()
        finally:
            self._loop.remove_writer(fd)
