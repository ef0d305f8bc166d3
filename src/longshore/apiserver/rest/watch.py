"""Watches: the changes of a filtered collection, from any version still remembered.

Yields batches of changes so that one wake-up serves many events. The caller renders them.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from longshore.api import errors, types
from longshore.api.clock import Timer
from longshore.api.types import Obj
from longshore.apiserver.request import options
from longshore.apiserver.request.call import INTERNAL, Call
from longshore.apiserver.rest import versions
from longshore.apiserver.rest.list import SLICE_ENTRIES, Predicate, predicate, scope
from longshore.store import Compacted, Entry, Event, EventType, Watch, WatchOverflow

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_BOOKMARK_SECONDS: Final = 60.0
_LAST_BOOKMARK_SECONDS: Final = 2.0
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class Notice(NamedTuple):
    """A message of a watch beside changes: a bookmark has `metadata`, an error `status`."""

    type: Literal["BOOKMARK", "ERROR"]
    metadata: Obj | None = None
    status: Obj | None = None


Change = Event | Notice
"""A change of a watch. Most are the store's own events, which all watches share."""

Changes = Sequence[Change]


class Stream(AsyncIterator[Changes]):
    """The changes of one watch, as batches. It must be closed, which ends its watch of the store."""

    def __init__(
        self, api: Api, call: Call, wanted: options.ListOptions, since: int, matches: Predicate | None
    ) -> None:
        self.source: Watch | None = None
        """The watch of the store, once the first batch was asked for."""
        self._matches = matches
        self._changes = _changes(self, api, call, wanted, since, matches)

    def __anext__(self) -> Awaitable[Changes]:
        return self._changes.__anext__()

    async def aclose(self) -> None:
        await self._changes.aclose()

    def hand_to(self, taker: Callable[[Sequence[Event]], None]) -> None:
        """Passes changes from now on to `taker`, which must not raise; bookmarks, errors and earlier changes
        still go to the iterator. Must be called after iterating has begun."""
        assert self.source is not None, "iterating has begun"
        matches = self._matches
        if matches is None:
            self.source.hand_to(taker)
            return

        def take_some(events: Sequence[Event]) -> None:
            if changes := [c for e in events if (c := _filtered(e, matches)) is not None]:
                taker(changes)

        self.source.hand_to(take_some)


async def watch(api: Api, call: Call) -> Stream:
    """Checks the request now (raising StatusError) and returns the stream of its changes."""
    wanted = options.list_options(call, watch=True)
    since = versions.parse(wanted.revision)
    matches = predicate(call, wanted)
    if wanted.initial_events and since:
        await versions.wait_until(api, since)
    return Stream(api, call, wanted, since, matches)


async def _changes(
    stream: Stream,
    api: Api,
    call: Call,
    wanted: options.ListOptions,
    since: int,
    matches: Predicate | None,
) -> AsyncGenerator[Changes, None]:
    storage, namespace = call.resource.storage, scope(call)
    # A selector has to decode what it looks at: of many objects, some in each turn of the loop.
    turn = sys.maxsize if matches is None else SLICE_ENTRIES
    snapshot: Sequence[Entry] = ()
    if wanted.initial_events or (wanted.initial_events is None and not since):
        since, snapshot = api.store.revision, api.store.list(storage, namespace).entries
    elif not since:
        since = api.store.revision
    try:
        source = stream.source = api.store.watch(storage, namespace, since)
    except Compacted as gone:
        yield [_expired(since, gone.oldest)]
        return
    timer: Timer | None = None
    try:
        first = await _first(snapshot, matches, turn)
        if wanted.initial_events and wanted.bookmarks:
            first.append(_bookmark(since, {INITIAL_EVENTS_END: "true"}))
        if first:
            yield first
        del first, snapshot  # states that are soon no more, and a watch lives long
        clock = api.client_clock
        now = clock.monotonic()
        end = now + (wanted.timeout or api.watch_timeout())
        last = end - _LAST_BOOKMARK_SECONDS
        bookmark = min(now + _BOOKMARK_SECONDS, last) if wanted.bookmarks else end
        if api.quiet_watches and call.user is INTERNAL:
            end = bookmark = math.inf
        while (now := clock.monotonic()) < end:
            # The nudge ends the wait below: the time is up, or a bookmark is due.
            if end < math.inf:
                timer = clock.call_later(max(min(end, bookmark) - now, 0), source.nudge)
            async for events in source:
                if not events:
                    break
                if matches is None:
                    yield events
                    continue
                for at in range(0, len(events), turn):
                    if at:
                        await asyncio.sleep(0)
                    if changes := [
                        c for e in events[at : at + turn] if (c := _filtered(e, matches)) is not None
                    ]:
                        yield changes
            else:
                return
            if wanted.bookmarks and (now := clock.monotonic()) >= bookmark:
                bookmark = min(now + _BOOKMARK_SECONDS, last) if now < last else math.inf
                yield [_bookmark(api.store.revision)]
    except WatchOverflow:
        yield [_expired(since, api.store.oldest)]
    finally:
        if timer is not None:
            timer.cancel()
        source.close()


async def _first(entries: Sequence[Entry], matches: Predicate | None, turn: int) -> list[Change]:
    """The objects that a watch begins with, at most `turn` in each turn of the loop."""
    found: list[Change] = []
    for at in range(0, len(entries), turn):
        if at:
            await asyncio.sleep(0)
        some = entries[at : at + turn]
        found += [Event(e.revision, "ADDED", e, None) for e in some if matches is None or matches(e)]
    return found


def _filtered(event: Event, matches: Predicate) -> Event | None:
    """The event as the filtered collection sees it; None if the object matched neither before nor after."""
    now = event.type != "DELETED" and matches(event.entry)
    before = event.previous is not None and matches(event.previous)
    if now:
        return event if before or event.type == "ADDED" else _as(event, "ADDED", event.entry)
    if not before:
        return None
    if event.type == "DELETED":
        return event
    assert event.previous is not None
    return _as(event, "DELETED", _at(event.previous, event.revision))


def _as(event: Event, kind: EventType, entry: Entry) -> Event:
    return Event(event.revision, kind, entry, event.previous)


def _at(entry: Entry, revision: int) -> Entry:
    """The entry's content under a newer resourceVersion."""
    obj = {**entry.obj, "metadata": {**entry.obj["metadata"], "resourceVersion": str(revision)}}
    return msgspec.structs.replace(entry, revision=revision, raw=types.encode(obj), _obj=obj)


def _bookmark(revision: int, annotations: Obj | None = None) -> Notice:
    metadata: Obj = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    return Notice("BOOKMARK", metadata=metadata)


def _expired(asked: int, oldest: int) -> Notice:
    error = errors.StatusError(410, "Expired", f"too old resource version: {asked} ({oldest - 1})")
    return Notice("ERROR", status=error.status())
