"""Removes events an hour after their last change, as upstream does, or earlier if there are too many: those
that changed longest ago first.

Part of the server, not a controller, so it also runs with `--controllers none`. A pass removes events with
ordinary deletes in the store, and lets other tasks run in between.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from longshore.api.retention import Retention
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longshore.apiserver.api import Api
    from longshore.store.types import Entry

_COUNT_SECONDS: Final = 5.0
"""Seconds between two counts of events."""
_PASSES_BETWEEN_AGES: Final = 12
"""Counts of events between two checks of their ages, which are a minute apart."""
_TURN_EVENTS: Final = 500
"""Events checked before other tasks may run: some 5 ms."""
_STAMPS: Final = ("lastTimestamp", "eventTime", "firstTimestamp")


async def expire_events(api: Api, limits: Retention) -> None:
    """Runs for as long as the server does."""
    ages = Ages(limits.event_age)
    while api.quiet_watches:
        await api.clock.sleep(_quiet_pause(api, ages))
        await forget_surplus_events(api, limits.events)
        await forget_old_events(api, ages)
    for number in itertools.count(1):
        await api.clock.sleep(_COUNT_SECONDS)
        await forget_surplus_events(api, limits.events)
        if number % _PASSES_BETWEEN_AGES == 0:
            await forget_old_events(api, ages)


class Ages:
    """The earliest second in which each event expires. Each revision of an event is read only once: few of
    many events are due at a time, and reading one takes 25 calls (bench/testing.py)."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._due: dict[int, float] = {}
        """The earliest second in which each event expires, by the event's revision."""

    def first(self, entries: Sequence[Entry], now: int) -> float:
        """The earliest second in which one of these events is due."""
        known = self._due
        for entry in entries:
            if entry.revision not in known:
                known[entry.revision] = _due(entry.obj, now, self.seconds)
        return min((known[entry.revision] for entry in entries), default=now + self.seconds)

    def old(self, entries: Sequence[Entry], now: int) -> list[Entry]:
        """The events that are due now."""
        known, found = self._due, []
        for entry in entries:
            when = known.get(entry.revision, now)
            if when <= now:  # read again: a stamp that was in the future may count by now
                when = known[entry.revision] = _due(entry.obj, now, self.seconds)
                if when <= now:
                    found.append(entry)
        return found

    def forget_all_but(self, entries: Sequence[Entry]) -> None:
        """Forgets the times of all events but these."""
        known = self._due
        self._due = {entry.revision: known[entry.revision] for entry in entries if entry.revision in known}


def _quiet_pause(api: Api, ages: Ages) -> float:
    """Seconds until an event can be due, at least a minute. A new event is not due before `ages.seconds`. For
    a virtual clock, on which a check every few seconds would be most of the events of a run."""
    now = api.seconds()
    first = ages.first(api.store.list("events").entries, now)
    return max(min(first - now, ages.seconds), _COUNT_SECONDS * _PASSES_BETWEEN_AGES)


async def forget_surplus_events(api: Api, limit: int) -> int:
    """Removes events above `limit`, those that changed longest ago, and returns their number."""
    if api.store.counts().get("events", 0) <= limit:
        return 0
    entries = sorted(api.store.list("events").entries, key=lambda entry: entry.revision)
    removed = 0
    surplus = entries[: len(entries) - limit]
    for at in range(0, len(surplus), _TURN_EVENTS):
        removed += await _remove(api, surplus[at : at + _TURN_EVENTS])
    return removed


async def forget_old_events(api: Api, ages: Ages) -> int:
    """Removes events that have reached their maximum age, and returns their number."""
    removed = 0
    entries = api.store.list("events").entries
    for at in range(0, len(entries), _TURN_EVENTS):
        removed += await _remove(api, ages.old(entries[at : at + _TURN_EVENTS], api.seconds()))
        await api.clock.sleep(0)
    ages.forget_all_but(entries)
    return removed


async def _remove(api: Api, entries: Sequence[Entry]) -> int:
    """Removes those events that have not changed since, and returns their number."""
    staged = []
    for entry in entries:
        latest = api.store.latest(entry.key)
        if latest is not None and latest.revision == entry.revision:
            gone = {**latest.obj, "metadata": dict(latest.obj["metadata"])}
            staged.append(api.store.stage_delete(entry.key, gone))
    try:
        for one in staged:
            await one.done()
    except StoreError:
        return 0  # a full disk fails the pass, not the server; the next pass finds them again
    return len(staged)


def is_due(event: Obj, now: int, age: float) -> bool:
    """Whether the last timestamp of an event is at least `age` seconds ago."""
    return _due(event, now, age) <= now


def _due(event: Obj, now: int, age: float) -> float:
    """The second in which an event expires, if it does not change again."""
    stamps = [event["metadata"]["creationTimestamp"], *(event[k] for k in _STAMPS if event.get(k))]
    series = event.get("series") or {}
    if series.get("lastObservedTime"):
        stamps.append(series["lastObservedTime"])
    seen = [rfc3339.parse(s) // SECOND for s in stamps]
    # Clients write these stamps; one in the future must not keep an event for ever.
    return max((s for s in seen if s <= now), default=now) + age
