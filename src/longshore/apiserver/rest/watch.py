"""Watches: the changes of a filtered collection, from any version still remembered.

Yields batches of changes so that one wake-up serves many events. Rendering is the caller's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from longshore.api import errors, types
from longshore.api.types import Obj
from longshore.apiserver import options
from longshore.apiserver.call import Call
from longshore.apiserver.rest import versions
from longshore.apiserver.rest.list import Predicate, predicate, scope
from longshore.store import Compacted, Entry, Event, WatchOverflow

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_BOOKMARK_EVERY: Final = 60.0
_BOOKMARK_BEFORE_END: Final = 2.0
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

ChangeType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


@dataclass(frozen=True, slots=True)
class Change:
    """One event of a watch. `entry` for objects, `metadata` for bookmarks, `status` for an error."""

    type: ChangeType
    entry: Entry | None = None
    revision: int = 0
    metadata: Obj | None = None
    status: Obj | None = None


async def watch(api: Api, call: Call) -> AsyncIterator[list[Change]]:
    """Checks the request now (raising StatusError) and returns the stream of its changes."""
    wanted = options.list_options(call, watch=True)
    since = versions.parse(wanted.revision)
    matches = predicate(call, wanted)
    if wanted.initial_events and since:
        await versions.wait_until(api, since)
    return _stream(api, call, wanted, since, matches)


async def _stream(
    api: Api, call: Call, wanted: options.ListOptions, since: int, matches: Predicate | None
) -> AsyncIterator[list[Change]]:
    storage, namespace = call.resource.storage, scope(call)
    first: list[Change] = []
    if wanted.initial_events or (wanted.initial_events is None and not since):
        snapshot = api.store.list(storage, namespace)
        since = snapshot.revision
        first = [Change("ADDED", e, e.revision) for e in snapshot.entries if matches is None or matches(e)]
        if wanted.initial_events and wanted.bookmarks:
            first.append(_bookmark(since, {INITIAL_EVENTS_END: "true"}))
    elif not since:
        since = api.store.revision
    try:
        source = api.store.watch(storage, namespace, since)
    except Compacted as gone:
        yield [_expired(since, gone.oldest)]
        return
    end = api.monotonic() + (wanted.timeout if wanted.timeout else api.watch_timeout())
    try:
        if first:
            yield first
        async for batch in _live(api, source, end, wanted.bookmarks, since):
            changes = [c for e in batch if (c := _filtered(e, matches)) is not None] if type(batch) is list else [batch]
            if changes:
                yield changes  # type: ignore[misc]  # narrowed by the test above
    except WatchOverflow:
        yield [_expired(since, api.store.oldest)]
    finally:
        source.close()


async def _live(
    api: Api, source: object, end: float, bookmarks: bool, since: int
) -> AsyncIterator[list[Event] | Change]:
    """Batches of the store as they come, with bookmarks in between, until the time is up."""
    batches = aiter(source)  # type: ignore[call-overload]  # store.Watch
    pending: asyncio.Task[list[Event]] | None = None
    next_bookmark = min(api.monotonic() + _BOOKMARK_EVERY, end - _BOOKMARK_BEFORE_END)
    try:
        while (left := end - api.monotonic()) > 0:
            wait = min(left, next_bookmark - api.monotonic()) if bookmarks else left
            if pending is None:
                pending = asyncio.ensure_future(anext(batches))
            done, _ = await asyncio.wait({pending}, timeout=max(wait, 0))
            if done:
                batch, pending = pending.result(), None
                yield batch
            if bookmarks and api.monotonic() >= next_bookmark:
                next_bookmark = api.monotonic() + _BOOKMARK_EVERY
                yield _bookmark(max(since, api.store.revision))
    finally:
        if pending is not None:
            pending.cancel()


def _filtered(event: Event, matches: Predicate | None) -> Change | None:
    """The event as the filtered collection sees it; None when it never had the object in sight."""
    if matches is None:
        return Change(event.type, event.entry, event.revision)
    now = event.type != "DELETED" and matches(event.entry)
    before = event.previous is not None and matches(event.previous)
    if now:
        return Change("MODIFIED" if before else "ADDED", event.entry, event.revision)
    if not before:
        return None
    if event.type == "DELETED":
        return Change("DELETED", event.entry, event.revision)
    assert event.previous is not None
    return Change("DELETED", _at(event.previous, event.revision), event.revision)


def _at(entry: Entry, revision: int) -> Entry:
    """The same content under a newer resourceVersion."""
    obj = {**entry.obj, "metadata": {**entry.obj["metadata"], "resourceVersion": str(revision)}}
    return msgspec.structs.replace(entry, revision=revision, raw=types.encode(obj), _obj=obj)


def _bookmark(revision: int, annotations: Obj | None = None) -> Change:
    metadata: Obj = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    return Change("BOOKMARK", None, revision, metadata=metadata)


def _expired(asked: int, oldest: int) -> Change:
    error = errors.StatusError(410, "Expired", f"too old resource version: {asked} ({oldest - 1})")
    return Change("ERROR", status=error.status())
