"""Pages: a bounded number of objects from a place on, now or at an older revision in the window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge

from longshore.store.state import State
from longshore.store.types import Entry, Event, Key, Page, place

Place = tuple[str, str]


def current(
    state: State, storage: str, namespace: str | None, start: Place | None, limit: int
) -> list[Entry]:
    """The first `limit` objects at and after `start`."""
    found: list[Entry] = []
    for some in state.entries_from(storage, namespace, start):
        found += some
        if len(found) >= limit:
            del found[limit:]
            break
    return found


def past(
    state: State,
    storage: str,
    namespace: str | None,
    start: Place | None,
    limit: int,
    revision: int,
    changes: Sequence[Event],
) -> Page:
    """The page at `revision`. `changes` must be all changes of this storage or namespace since then."""
    before: dict[Place, Entry | None] = {}
    for change in changes:
        where = change.entry.key.place
        if start is None or where >= start:
            before.setdefault(where, change.previous)
    old = sorted((entry for entry in before.values() if entry is not None), key=place)
    changed_now = sum(state.get(Key(storage, *where)) is not None for where in before)
    count = state.count_from(storage, namespace, start) - changed_now + len(old)

    def unchanged() -> Iterator[Entry]:
        for some in state.entries_from(storage, namespace, start):
            for entry in some:
                if entry.key.place not in before:
                    yield entry

    found: list[Entry] = []
    for entry in merge(unchanged(), old, key=place):
        if len(found) == limit:
            break
        found.append(entry)
    return Page(revision, found, count - len(found))
