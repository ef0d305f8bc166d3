"""Decides which events are written: upstream's rules against repetition and spam. A pure state machine.

A repeated event increments its count. Ten events that differ only in their message, each within ten minutes
of the one before, become one combined event. Each object may cause 25 events of a type at once, then one
every five minutes; warnings and normal events are counted apart. Each table remembers its 4096 most recent
entries.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

import msgspec

from longshore.api.time.backoff import TokenBucket
from longshore.api.types import Obj

MAX_SIMILAR_EVENTS: Final = 10
SIMILAR_SECONDS: Final = 600.0
BURST: Final = 25
REFILL_PER_SECOND: Final = 1 / 300
COMBINED: Final = "(combined from similar events): "
_MAX_ENTRIES: Final = 4096

_Key: TypeAlias = tuple[str, ...]
V = TypeVar("V")


class Seen(msgspec.Struct):
    """One event in the state that the server should have."""

    name: str
    regarding: Obj
    type: str
    reason: str
    message: str
    first: str
    last: str
    count: int = 1
    stored: bool = False
    """Whether the server has the event already, so that a patch is enough."""
    tries: int = 0
    in_hand: bool = False
    """Whether the first write of the event is under way; then its writer checks for repetitions."""


class _Similar(msgspec.Struct):
    messages: dict[str, None]
    last: float


class Correlator:
    """Correlates the events of one source."""

    def __init__(self) -> None:
        self._seen: _Recent[Seen] = _Recent()
        self._similar: _Recent[_Similar] = _Recent()
        self._buckets: _Recent[TokenBucket] = _Recent()

    def observe(
        self,
        ref: Obj,
        type_: str,
        reason: str,
        message: str,
        *,
        seconds: float,
        now: str,
        name: Callable[[Obj], str],
    ) -> Seen | None:
        """The event to write now; None if it is spam. `name` makes the name of a new event about `ref`."""
        get = ref.get
        about = (
            get("kind", ""),
            get("namespace", ""),
            get("name", ""),
            get("uid", ""),
            get("apiVersion", ""),
        )
        matter: _Key = (*about, type_, reason)
        key: _Key
        if self._combines(matter, message, seconds):
            key, message = matter, COMBINED + message
        else:
            key = (*matter, get("fieldPath", ""), message)
        seen = self._seen.get(key)
        if seen is None:
            seen = Seen(name(ref), ref, type_, reason, message, now, now)
            self._seen.put(key, seen)
        else:
            self._seen.move_to_end(key)
            seen.count, seen.last, seen.message = seen.count + 1, now, message
        return seen if self._affordable((*about, type_), seconds) else None

    def _combines(self, matter: _Key, message: str, seconds: float) -> bool:
        similar = self._similar.get(matter)
        if similar is None:
            self._similar.put(matter, _Similar({message: None}, seconds))
            return False
        self._similar.move_to_end(matter)
        if seconds - similar.last > SIMILAR_SECONDS:
            similar.messages.clear()
        similar.messages[message] = None
        similar.last = seconds
        if len(similar.messages) < MAX_SIMILAR_EVENTS:
            return False
        del similar.messages[next(iter(similar.messages))]
        return True

    def _affordable(self, subject: _Key, seconds: float) -> bool:
        bucket = self._buckets.get(subject)
        if bucket is None:
            bucket = TokenBucket(REFILL_PER_SECOND, BURST, seconds)
            self._buckets.put(subject, bucket)
        else:
            self._buckets.move_to_end(subject)
        return bucket.take(seconds)


class _Recent(OrderedDict[_Key, V]):
    """A dictionary that drops its oldest entry. Readers move the entry that they find to the end."""

    def put(self, key: _Key, value: V) -> None:
        """Adds a new key."""
        self[key] = value
        if len(self) > _MAX_ENTRIES:
            self.popitem(last=False)
