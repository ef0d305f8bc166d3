"""Joins a command with a client: carries bytes both ways, then the result. Independent of the protocol."""

from __future__ import annotations

import asyncio
from typing import Final, Literal, Protocol

from longshore.api import errors
from longshore.api.container_streams import Session
from longshore.api.types import Obj
from longshore.apiserver.http.open_streams import cancelled
from longshore.apiserver.subresources.link import Link

SUCCESS: Final[Obj] = {"metadata": {}, "status": "Success"}


class Terminal(Protocol):
    """The client's end of the connection."""

    async def send(self, stream: Literal["stdout", "stderr"], data: bytes) -> None: ...

    async def listen(self, session: Session) -> None:
        """Passes on the client's input, until the client has gone."""

    async def finish(self, status: Obj) -> None:
        """Sends the result, and closes."""


async def join(link: Link, terminal: Terminal) -> None:
    """Opens the session of `link` and runs it until it ends or the client goes."""
    try:
        session = await link.open()
    except errors.StatusError as refused:
        await terminal.finish(refused.status())
        return
    working = asyncio.ensure_future(_work(link, session, terminal))
    listening = asyncio.ensure_future(terminal.listen(session))
    try:
        await asyncio.wait((working, listening), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    except ConnectionError:
        pass  # the client has gone in the middle of a line
    finally:
        await cancelled([working, listening])
        await session.close()


async def _work(link: Link, session: Session, terminal: Terminal) -> None:
    async for stream, data in session.output():
        if link.streams.stdout if stream == "stdout" else link.streams.stderr:
            await terminal.send(stream, data)
    code = await session.wait()
    # An attached client sees the container's streams; what it exits with is in the pod's status.
    await terminal.finish(SUCCESS if code == 0 or link.kind == "attach" else failure(link.command, code))


def failure(command: tuple[str, ...], code: int) -> Obj:
    """The Status of a command with a non-zero exit code; clients read the code from the cause."""
    return {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: "
        f"error executing command [{' '.join(command)}], exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def size_of(message: Obj) -> tuple[int, int] | None:
    """Width and height from a resize message; None if they are invalid."""
    width, height = message.get("Width"), message.get("Height")
    if type(width) is int and type(height) is int and 0 < width < 65536 and 0 < height < 65536:
        return width, height
    return None
