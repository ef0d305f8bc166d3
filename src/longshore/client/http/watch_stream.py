"""Reads the lines of a watch. A line may have any length, so aiohttp's own readline is not enough."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator

import aiohttp
import msgspec

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client.ask import untyped
from longshore.client.errors import TimedOut, Unreachable
from longshore.client.http import unwanted_places
from longshore.client.http.trimmed_objects import Line, whole_line
from longshore.client.protocol import Only, WatchEvent


async def events(
    response: aiohttp.ClientResponse,
    resource: Resource,
    *,
    seconds: float,
    silent: float | None,
    read: Callable[[bytes], Line[Obj]] = whole_line,
    only: Only | None = None,
) -> AsyncGenerator[WatchEvent, None]:
    """The events of a watch until its end. Raises the error that an ERROR event carries.

    `seconds` limits the whole stream, and `silent` the time without a word: a peer that vanished sends
    nothing, not even an end. `read` decodes a line. Of objects in namespaces of which `only` says no nothing
    more is read; a bookmark says how far they went.
    """
    content, watchdog = response.content, _Watchdog(response.content, seconds, silent)
    sieve = _Sieve(only)
    try:
        while True:
            try:
                chunk = await content.readany()
            except TimeoutError as err:
                raise TimedOut(f"the watch of {resource.qualified} {watchdog.verdict}") from err
            except aiohttp.ClientError as err:
                raise Unreachable(f"the watch of {resource.qualified} broke off: {err}") from err
            if not chunk:
                return
            watchdog.hear()
            for line in sieve.lines(chunk):
                yield _event(read, line, resource)
            if sieve.skipped:
                yield WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": sieve.skipped}})
    finally:
        watchdog.stop()


class _Sieve:
    """Cuts what comes into lines. Leaves out objects in namespaces of which `only` says no."""

    def __init__(self, only: Only | None) -> None:
        self._only = only
        self._parts: list[bytes] = []
        """The beginning of a line whose end has not come."""
        self.skipped = ""
        """The resourceVersion of the object in the last line, if that was left out."""

    def lines(self, chunk: bytes) -> Iterator[bytes]:
        only, start, self.skipped = self._only, 0, ""
        while (end := chunk.find(b"\n", start)) >= 0:
            line, start = self._joined(chunk[start:end]), end + 1
            if not line:
                continue
            self.skipped = "" if only is None else unwanted_places.version(line, only)
            if not self.skipped:
                yield line
        if start < len(chunk):
            self._parts.append(chunk[start:])

    def _joined(self, last: bytes) -> bytes:
        if not self._parts:
            return last
        parts, self._parts = [*self._parts, last], []
        return b"".join(parts)


class _Watchdog:
    """Breaks a stream off that lasts too long, or says nothing for too long. Has one timer for the whole
    stream: a timeout around each read took 15 calls, a third of what it takes to read and skip an event."""

    def __init__(self, content: aiohttp.StreamReader, seconds: float, silent: float | None) -> None:
        self._content, self._silent = content, silent
        self._loop = asyncio.get_running_loop()
        self.hear()
        self._end = self._heard + seconds
        self.verdict = ""
        """Why the stream was broken off."""
        self._wait()

    def hear(self) -> None:
        """Something came."""
        self._heard, self._read_bytes = self._loop.time(), self._content.total_bytes

    def stop(self) -> None:
        self._timer.cancel()

    @property
    def _until(self) -> float:
        return self._end if self._silent is None else min(self._end, self._heard + self._silent)

    def _wait(self) -> None:
        self._timer = self._loop.call_at(self._until, self._look)

    def _look(self) -> None:
        if self._content.total_bytes > self._read_bytes:
            self.hear()  # there is something, for a reader who takes its time
        until = self._until
        if self._loop.time() < until:
            self._wait()
            return
        self.verdict = "did not end in time" if until == self._end else f"was silent for {self._silent:g} s"
        self._content.set_exception(TimeoutError())


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
