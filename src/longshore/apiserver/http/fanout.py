"""Shares work among watchers. They pause together, so their next bundles of changes are equal, and each
bundle is joined and framed once for all of them. Only encryption is done for each watcher."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

from longshore.apiserver.http.sender import frame
from longshore.apiserver.rest.watch import Change, Changes, Notice

_WATCHER_SECONDS: Final = 0.0001
_MIN_PAUSE_SECONDS: Final = 0.001  # below that a timer costs more than it saves
_MAX_PAUSE_SECONDS: Final = 0.01
_MAX_SHARED: Final = 16  # bundles kept; watchers at the same place ask for theirs one after the other
_MAX_SHARED_BYTES: Final = 1 << 18  # longer ones are first lists, which other watchers do not need
MAX_BUNDLE_BYTES: Final = 1 << 19
"""Bytes of changes rendered at a time for one watcher. They stay in memory if the watcher does not read."""

Render = Callable[[Change], bytes]


class Fanout:
    """All watches of one server."""

    def __init__(self) -> None:
        self.watchers = 0
        self._shared: dict[tuple[str, int, int], tuple[Changes, bytes]] = {}
        self._paused: list[asyncio.Future[None]] = []

    def chunk(self, form: str, changes: Changes, render: Render) -> bytes:
        """The rendered changes as one chunk of HTTP; empty if they render to nothing.

        `render` must give the same bytes for the same change to all callers that name the same `form`.
        """
        first = changes[0]
        if isinstance(first, Notice):
            return chunk(changes, render)
        key = (form, first.revision, len(changes))
        known = self._shared.get(key)
        if known is not None and known[0] == changes:  # quick, since most are identical events
            return known[1]
        made = chunk(changes, render)
        if len(made) <= _MAX_SHARED_BYTES:
            if len(self._shared) >= _MAX_SHARED:
                self._shared.clear()
            self._shared[key] = (changes, made)
        return made

    async def pause(self) -> None:
        """Lets changes accumulate, longer with more watchers: one write costs the same for many changes."""
        seconds = min(self.watchers * _WATCHER_SECONDS, _MAX_PAUSE_SECONDS)
        if seconds < _MIN_PAUSE_SECONDS:
            return
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        if not self._paused:
            loop.call_later(seconds, self._go_on)
        self._paused.append(waiter)
        await waiter

    def _go_on(self) -> None:
        paused, self._paused = self._paused, []
        for waiter in paused:
            if not waiter.done():
                waiter.set_result(None)


def bundles(changes: Changes) -> Iterator[Changes]:
    """The changes in bundles of at most MAX_BUNDLE_BYTES, but at least one change each."""
    if len(changes) == 1:
        yield changes
        return
    begin = size = 0
    for at, change in enumerate(changes):
        more = 0 if isinstance(change, Notice) else len(change.entry.raw)
        if size + more > MAX_BUNDLE_BYTES and at > begin:
            yield changes[begin:at]
            begin, size = at, 0
        size += more
    yield changes[begin:] if begin else changes


def chunk(changes: Changes, render: Render) -> bytes:
    """The rendered changes as one chunk of HTTP; empty if they render to nothing."""
    text = lines(changes, render)
    return frame(text) if text else b""


def lines(changes: Changes, render: Render) -> bytes:
    """The rendered changes, one after the other."""
    return render(changes[0]) if len(changes) == 1 else b"".join(map(render, changes))
