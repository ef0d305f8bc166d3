"""Reads the lines of a watch. A line may have any length, so aiohttp's own readline is not enough."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import aiohttp
import msgspec

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client.ask import untyped
from longshore.client.errors import TimedOut, Unreachable
from longshore.client.http.trimmed_objects import Line, whole_line
from longshore.client.protocol import WatchEvent


async def events(
    response: aiohttp.ClientResponse,
    resource: Resource,
    *,
    seconds: float,
    silent: float | None,
    read: Callable[[bytes], Line[Obj]] = whole_line,
) -> AsyncGenerator[WatchEvent, None]:
    """The events of a watch until its end. Raises the error that an ERROR event carries.

    `seconds` limits the whole stream, and `silent` the time without a word: a peer that vanished sends
    nothing, not even an end. `read` decodes a line.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    chunks = response.content.iter_any().__aiter__()
    parts: list[bytes] = []
    while True:
        until = end if silent is None else min(end, clock() + silent)
        try:
            async with asyncio.timeout_at(until):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            break
        except TimeoutError as err:
            what = "did not end in time" if until == end else f"was silent for {silent:g} s"
            raise TimedOut(f"the watch of {resource.qualified} {what}") from err
        except aiohttp.ClientError as err:
            raise Unreachable(f"the watch of {resource.qualified} broke off: {err}") from err
        first, *more = chunk.split(b"\n")
        parts.append(first)
        for start_of_next in more:
            line = b"".join(parts)
            parts = [start_of_next]
            if line:
                yield _event(read, line, resource)


def _event(read: Callable[[bytes], Line[Obj]], line: bytes, resource: Resource) -> WatchEvent:
    try:
        event = read(line)
    except msgspec.DecodeError as err:
        raise Unreachable(
            f"the watch of {resource.qualified} sent something that is no event: {err}"
        ) from err
    if event.type == "ERROR":
        raise StatusError.from_status(event.object, 500)
    return WatchEvent(event.type, untyped(resource, event.object))
