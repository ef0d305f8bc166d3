"""Watches: the changes of a filtered collection, from any version still remembered.

Yields batches of changes so that one wake-up serves many events. Rendering is the caller's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from longshore.api import errors, types
from longshore.api.types import Obj
from longshore.apiserver import options
from longshore.apiserver.call import Call
from longshore.apiserver.rest import versions
from longshore.apiserver.rest.list import Predicate, predicate, scope
from longshore.store import Compacted, Entry, Event, Watch, WatchOverflow

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_BOOKMARK_EVERY: Final = 60.0
_BOOKMARK_BEFORE_END: Final = 2.0
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

ChangeType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class Change(NamedTuple):
    """One event of a watch. `entry` for objects, `metadata` for bookmarks, `status` for an error."""

    type: ChangeType
    entry: Entry | None = None
    revision: int = 0
    metadata: Obj | None = None
    status: Obj | None = None


Changes = list[Change]


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
    try:
        if first:
            yield first
        async for batch in _live(api, source, wanted):
            if isinstance(batch, Change):
                yield [batch]
            elif changes := [c for e in batch if (c := _filtered(e, matches)) is not None]:
                yield changes
    except WatchOverflow:
        yield [_expired(since, api.store.oldest)]
    finally:
        source.close()


async def _live(api: Api, source: Watch, wanted: options.ListOptions) -> AsyncIterator[list[Event] | Change]:
    """Batches of the store as they come, with bookmarks in between, until the time is up."""
    end = api.monotonic() + (wanted.timeout or api.watch_timeout())
    bookmark = end
    if wanted.bookmarks:
        bookmark = min(api.monotonic() + _BOOKMARK_EVERY, end - _BOOKMARK_BEFORE_END)
    timer: asyncio.TimerHandle | None = None
    try:
        while (now := api.monotonic()) < end:
            due = min(end, bookmark)
            timer = asyncio.get_running_loop().call_later(max(due - now, 0), source.nudge)
            async for batch in source:
                if not batch:
                    break
                yield batch
            else:
                return
            if wanted.bookmarks and api.monotonic() >= bookmark:
                bookmark = api.monotonic() + _BOOKMARK_EVERY
                yield _bookmark(api.store.revision)
    finally:
        if timer is not None:
            timer.cancel()


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
