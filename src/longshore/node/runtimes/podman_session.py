"""`podman exec` and `podman attach` as sessions: with pipes, or with a terminal of their own in between."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import termios
import tty as terminals
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Literal

from longshore.machinery.background import cancelled
from longshore.node.runtimes.podman_cli import environment

_CHUNK_BYTES: Final = 1 << 16
EXEC_TAG: Final = "LONGSHORE_EXEC"

Output = tuple[Literal["stdout", "stderr"], bytes]


class PodmanSession:
    """`exit_code` returns the exit code if that is not podman's own. `tag` is in the environment of processes
    that exec started, so that they can be found and killed."""

    def __init__(self, exit_code: Callable[[], Awaitable[int]] | None = None, tag: str = "") -> None:
        self._exit_code, self._tag = exit_code, tag
        self._process: asyncio.subprocess.Process
        self._controller = -1
        self._queue: asyncio.Queue[Output | None] = asyncio.Queue(16)
        self._pumps: list[asyncio.Task[None]] = []
        self._closed = False

    async def start(self, words: Sequence[str], *, stdin: bool, tty: bool) -> None:
        if tty:
            await self._with_terminal(words)
            return
        self._process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._pump("stdout", self._process.stdout)
        self._pump("stderr", self._process.stderr)

    async def _with_terminal(self, words: Sequence[str]) -> None:
        self._controller, theirs = pty.openpty()
        terminals.setraw(theirs)  # echo and line editing are those of the terminal in the container
        try:
            self._process = await asyncio.create_subprocess_exec(
                *words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(), start_new_session=True
            )
        finally:
            os.close(theirs)
        reader = asyncio.StreamReader(_CHUNK_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(self._controller), "rb", 0)
        )
        self._pump("stdout", reader)

    def _pump(self, name: Literal["stdout", "stderr"], reader: asyncio.StreamReader) -> None:
        async def run() -> None:
            with contextlib.suppress(OSError):  # a terminal ends with an error
                while data := await reader.read(_CHUNK_BYTES):
                    await self._queue.put((name, data))
            await self._queue.put(None)

        self._pumps.append(asyncio.create_task(run()))

    async def write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            if self._controller >= 0:
                await asyncio.to_thread(_write_all, self._controller, data)
            elif self._process.stdin is not None:
                self._process.stdin.write(data)
                await self._process.stdin.drain()

    async def close_input(self) -> None:
        if self._controller >= 0:
            await self.write(b"\x04")
        elif self._process.stdin is not None:
            self._process.stdin.close()

    async def resize(self, width: int, height: int) -> None:
        if self._controller >= 0 and self._process.returncode is None:
            size = struct.pack("HHHH", height, width, 0, 0)
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._controller, termios.TIOCSWINSZ, size)
                self._process.send_signal(signal.SIGWINCH)

    async def output(self) -> AsyncIterator[Output]:
        left = len(self._pumps)
        while left:
            item = await self._queue.get()
            if item is None:
                left -= 1
            else:
                yield item

    async def wait(self) -> int:
        code = await self._process.wait()
        if self._exit_code is not None:
            return await self._exit_code()
        return code if code >= 0 else 128 - code

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._process.returncode is None:
            if self._tag:
                await asyncio.to_thread(_kill_tagged, f"{EXEC_TAG}={self._tag}".encode())
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await cancelled(self._pumps)
        if self._controller >= 0:
            os.close(self._controller)
            self._controller = -1


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _kill_tagged(tag: bytes) -> None:
    """Kills all processes with this in their environment: the command of an exec, and what it started."""
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            with contextlib.suppress(OSError):
                if tag in (directory / "environ").read_bytes().split(b"\0"):
                    os.kill(int(directory.name), signal.SIGKILL)
