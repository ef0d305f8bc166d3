"""A door behind which commands run on this machine as they are: a pod without containers, for protocols."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import termios
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Literal

from longshore.api import errors
from longshore.api.container_streams import LogOptions
from longshore.api.types import Obj
from longshore.api.usage import Measured, Used

NODE = "here"


class LocalSession:
    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []
        self._queue: asyncio.Queue[tuple[Literal["stdout", "stderr"], bytes] | None] = asyncio.Queue(16)
        self._open = 0
        self._input: asyncio.StreamWriter | int | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(cls, command: tuple[str, ...], *, stdin: bool, tty: bool) -> LocalSession:
        made = cls()
        if tty:
            controller, terminal = pty.openpty()
            made.process = await asyncio.create_subprocess_exec(
                *command,
                stdin=terminal,
                stdout=terminal,
                stderr=terminal,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
            os.close(terminal)
            made._input = controller
            made._pump("stdout", await _reader(controller))
            return made
        made.process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        assert made.process.stdout
        assert made.process.stderr
        made._input = made.process.stdin
        made._pump("stdout", made.process.stdout)
        made._pump("stderr", made.process.stderr)
        return made

    process: asyncio.subprocess.Process

    def _pump(self, name: Literal["stdout", "stderr"], reader: asyncio.StreamReader) -> None:
        async def run() -> None:
            try:
                while data := await reader.read(65536):
                    await self._queue.put((name, data))
            except OSError:
                pass  # the end of a terminal
            await self._queue.put(None)

        self._open += 1
        self._tasks.append(asyncio.create_task(run()))

    async def write(self, data: bytes) -> None:
        if isinstance(self._input, int):
            os.write(self._input, data)
        elif self._input is not None:
            try:
                self._input.write(data)
                await self._input.drain()
            except ConnectionError:
                pass

    async def close_input(self) -> None:
        if isinstance(self._input, int):
            os.write(self._input, b"\x04")
        elif self._input is not None:
            self._input.close()

    async def resize(self, width: int, height: int) -> None:
        self.sizes.append((width, height))
        if isinstance(self._input, int):
            fcntl.ioctl(self._input, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    async def output(self) -> AsyncIterator[tuple[Literal["stdout", "stderr"], bytes]]:
        while self._open:
            item = await self._queue.get()
            if item is None:
                self._open -= 1
            else:
                yield item

    async def wait(self) -> int:
        code = await self.process.wait()
        return code if code >= 0 else 128 - code

    async def close(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if not isinstance(self._input, int) and self._input is not None:
            self._input.close()
        self.process._transport.close()  # type: ignore[attr-defined]


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    return reader


class LocalDoor:
    """Its logs are `lines`; a follower gets what is added, until `ended` is set."""

    node = NODE

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.ended = asyncio.Event()
        self.asked: list[LogOptions] = []
        self.sessions: list[LocalSession] = []
        self.running = True
        self.used: dict[str, dict[str, Used]] = {}

    async def logs(self, pod: Obj, container: str, options: LogOptions) -> AsyncGenerator[bytes, None]:
        self.asked.append(options)
        return self._lines(options)

    async def _lines(self, options: LogOptions) -> AsyncGenerator[bytes, None]:
        at = 0
        while True:
            for line in self.lines[at:]:
                at += 1
                yield line
            if not options.follow or (self.ended.is_set() and at == len(self.lines)):
                return
            await asyncio.sleep(0.01)

    def check_running(self, pod: Obj, container: str) -> None:
        if not self.running:
            raise errors.internal(f'unable to upgrade connection: container not found ("{container}")')

    async def exec(
        self, pod: Obj, container: str, command: tuple[str, ...], *, stdin: bool, tty: bool
    ) -> LocalSession:
        try:
            session = await LocalSession.start(command, stdin=stdin, tty=tty)
        except OSError as problem:
            raise errors.internal(f"error executing command in container: {command[0]}: {problem}") from None
        self.sessions.append(session)
        return session

    async def attach(self, pod: Obj, container: str) -> LocalSession:
        return await self.exec(pod, container, ("cat",), stdin=True, tty=False)

    async def port_forward(self, pod: Obj, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port)

    async def measure(self) -> Measured:
        return Measured(1_800_000_000, 15.25, Used(0.75, 512 << 20), self.used)
