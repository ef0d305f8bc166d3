"""The process runtime's link to a keeper: starts a keeper if none answers, and another when it dies.

A request that was under way when the keeper died is sent again to the next one. That is safe, because every
request may be repeated: a key that was started is not started again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import longshore
from longshore.node.keeper import frames
from longshore.node.runtime import CannotStart

_RETRY_SECONDS = (0.0, 0.05, 0.2, 0.5, 1.0)  # seconds before each attempt to connect to a keeper

_COPIED = (
    "this data directory is a copy: the processes of the longshore it was copied from are left alone, "
    "and the containers that ran there are lost here"
)
log = logging.getLogger(__name__)

Heard: TypeAlias = Callable[[bool, Any], Any]
"""Takes whether the keeper granted a request, and its answer; returns the answer for the caller."""

_SAID_NOTHING = "the keeper could not be started, and could not say why; perhaps the disk is full"


class KeeperGone(Exception):
    """The keeper ended and no new one could be started. See keeper.log in its directory."""


def packed(request: frames.Message) -> bytes:
    """The frame of a request. Raises CannotStart for one that is longer than the keeper accepts."""
    data = frames.pack(request)
    if len(data) > frames.MAX_REQUEST_BYTES:
        most = f"{frames.MAX_REQUEST_BYTES >> 20} MiB"
        text = f"the container's arguments, variables and mounts are longer than the {most} of a request"
        raise CannotStart("CreateContainerError", text)
    return data


class Link(asyncio.Protocol):
    def __init__(
        self,
        directory: Path,
        greeted: Callable[[list[frames.State]], None],
        ended: Callable[[frames.State], None],
        *,
        owned: bool = False,
    ) -> None:
        """With `owned`, the keeper kills all containers when this process ends, in whatever way."""
        self._owned = owned
        self.directory = directory
        self._greeted = greeted
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self._unpacker = frames.Unpacker()
        self._requests: dict[int, tuple[bytes, asyncio.Future[Any], Heard | None]] = {}
        self._number = 0
        self._outgoing: list[bytes] = []
        self._unanswered: list[bytes] = []
        """Requests to send again, to a keeper that has just answered."""
        self._closing = False
        self._again: asyncio.Task[None] | None = None
        self.keeper_pid = 0
        self.version = 0
        """The version of the keeper's protocol."""

    async def connect(self) -> None:
        """Connects to the running keeper, or a new one. Passes the states that it remembers to `greeted`."""
        hello = await self.greet()
        self.welcome(hello if hello is not None else await self.start())

    async def start(self) -> Any:
        """Starts a keeper, if none runs or the old one is about to exit, and returns its greeting."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        await self._start_keeper()
        return await self._dial()

    async def greet(self) -> Any:
        """The greeting of the running keeper, of any version; None if no keeper answers."""
        try:
            return await self._dial()
        except OSError:
            return None

    def welcome(self, hello: Any) -> None:
        """Takes the keeper of this greeting, and sends it the requests that others left unanswered."""
        if hello.get("copied") and not self.keeper_pid:
            log.warning("%s", _COPIED)
        self.keeper_pid, self.version = hello["pid"], hello["version"]
        self._greeted(hello["states"])
        if self._unanswered and self._transport is not None:  # else the next keeper gets them
            self._transport.write(b"".join(self._unanswered))
        self._unanswered = []

    async def dismiss(self) -> None:
        """Stops a keeper that runs nothing. Its directory is free then, or in a moment."""
        await self.request("stop", None)
        await self.close()

    def dial(self) -> socket.socket:
        """Opens a connection for a session. The path may be longer than a socket's path may be."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        directory = os.open(self.directory, os.O_PATH | os.O_DIRECTORY)
        try:
            sock.connect(f"/proc/self/fd/{directory}/{frames.SOCKET}")
        except OSError:
            sock.close()
            raise
        finally:
            os.close(directory)
        sock.setblocking(False)
        return sock

    def request(self, op: str, payload: Any, heard: Heard | None = None) -> asyncio.Future[Any]:
        """Sends a request, with all others of this turn of the loop; the result is the answer. `heard` gets
        it first and may replace it."""
        if self._closing:
            raise KeeperGone("the runtime was closed")
        loop = asyncio.get_running_loop()
        self._number += 1
        future: asyncio.Future[Any] = loop.create_future()
        data = packed((op, self._number, payload))
        self._requests[self._number] = (data, future, heard)
        if self._transport is not None:
            if not self._outgoing:
                loop.call_soon(self._flush)
            self._outgoing.append(data)
        else:
            self.revive()
        return future

    @property
    def is_up(self) -> bool:
        """Whether a keeper is connected."""
        return self._transport is not None

    def revive(self) -> None:
        """Connects to a keeper again, if all attempts had failed."""
        if self._again is not None and self._again.done():
            self._again = asyncio.get_running_loop().create_task(self._reconnect())

    async def close(self) -> None:
        self._closing = True
        if self._again is not None:
            self._again.cancel()
        self._flush()
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        self._fail(KeeperGone("the runtime was closed"))

    # asyncio.Protocol

    def data_received(self, data: bytes) -> None:
        for op, number, payload in self._unpacker.feed(data):
            if op == "ended":
                for state in payload:
                    self._ended(state)
                continue
            known = self._requests.pop(number, None)
            if known is None:
                continue
            _, future, heard = known
            if future.done():
                continue
            if heard is not None:
                payload = heard(op == "ok", payload)
            if op == "ok":
                future.set_result(payload)
            else:
                future.set_exception(CannotStart(*payload))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self._closing:
            self._again = asyncio.get_running_loop().create_task(self._reconnect())

    # The parts of it

    def _flush(self) -> None:
        if self._outgoing and self._transport is not None:
            self._transport.write(b"".join(self._outgoing))
        self._outgoing.clear()

    async def _dial(self) -> Any:
        """The keeper's greeting. Raises OSError if no keeper answers."""
        loop = asyncio.get_running_loop()
        self._unpacker = frames.Unpacker()
        transport, _ = await loop.create_unix_connection(lambda: self, sock=self.dial())
        self._unanswered = [data for data, *_ in self._requests.values()]
        self._transport = transport
        self._outgoing.clear()
        return await self.request("hello", {"owned": self._owned})

    async def _start_keeper(self) -> None:
        """Starts a keeper in the background, in a session of its own; returns when it answers."""
        root = str(Path(longshore.__file__).parents[1])
        # A file, not a pipe: some event loops wait for the end of a pipe that the keeper's children hold.
        said = self.directory / "starting.log"
        errors = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-S",  # it needs nothing but the standard library,
                "-P",  # and nothing of the directory it is started in
                "-m",
                "longshore.node.keeper",
                str(self.directory),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=errors,
                env={"PYTHONPATH": root, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"},
                start_new_session=True,  # a Ctrl-C on longshore's terminal is not for the keeper
            )
        finally:
            os.close(errors)
        if await process.wait():
            raise KeeperGone(said.read_text(errors="replace").strip() or _SAID_NOTHING)

    async def _reconnect(self) -> None:
        problem: Exception = KeeperGone()
        for pause in _RETRY_SECONDS:
            await asyncio.sleep(pause)
            try:
                return await self.connect()
            except (OSError, KeeperGone) as error:
                problem = error
        self._fail(KeeperGone(f"the keeper ended, and no new one could be started: {problem}"))

    def _fail(self, problem: Exception) -> None:
        requests, self._requests = self._requests, {}
        for _, future, _ in requests.values():
            if not future.done():
                future.set_exception(problem)
