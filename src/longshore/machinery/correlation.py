"""Which events are worth a write: upstream's rules against repetition and spam. A pure state machine.

The same event again only counts up. Ten events that differ in nothing but their message, each within ten
minutes of the one before, become one that says so. And one object may cause 25 events at once, then one
every five minutes. Remembers the 4096 most recent of each and forgets the oldest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from longshore.api.types import Obj

SIMILAR: Final = 10
SIMILAR_SECONDS: Final = 600.0
BURST: Final = 25
REFILL_PER_SECOND: Final = 1 / 300
COMBINED: Final = "(combined from similar events): "
_REMEMBERED: Final = 4096

_Key: TypeAlias = tuple[str, ...]
V = TypeVar("V")


@dataclass(slots=True)
class Seen:
    """One event as it should be on the server by now."""

    name: str
    regarding: Obj
    type: str
    reason: str
    message: str
    first: str
    last: str
    count: int = 1
    stored: bool = False
    """Whether the server has it already, so that a patch is enough."""
    tries: int = 0


@dataclass(slots=True)
class _Similar:
    messages: dict[str, None]
    last: float


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class Correlator:
    """Of one source of events."""

    def __init__(self) -> None:
        self._seen: _Recent[Seen] = _Recent()
        self._similar: _Recent[_Similar] = _Recent()
        self._buckets: _Recent[_Bucket] = _Recent()

    def observe(
        self,
        ref: Obj,
        type_: str,
        reason: str,
        message: str,
        *,
        seconds: float,
        now: str,
        name: Callable[[], str],
    ) -> Seen | None:
        """The event to write now; None when it is spam. `name` makes the name of a new event."""
        about = (
            ref.get("kind", ""),
            ref.get("namespace", ""),
            ref.get("name", ""),
            ref.get("uid", ""),
            ref.get("apiVersion", ""),
        )
        alike: _Key = (*about, type_, reason)
        key: _Key
        if self._combines(alike, message, seconds):
            key, message = alike, COMBINED + message
        else:
            key = (*alike, ref.get("fieldPath", ""), message)
        seen = self._seen.get(key)
        if seen is None:
            seen = Seen(name(), ref, type_, reason, message, first=now, last=now)
            self._seen.put(key, seen)
        else:
            seen.count, seen.last, seen.message = seen.count + 1, now, message
        return seen if self._affordable(about, seconds) else None

    def _combines(self, alike: _Key, message: str, seconds: float) -> bool:
        similar = self._similar.get(alike)
        if similar is None or seconds - similar.last > SIMILAR_SECONDS:
            similar = _Similar({}, seconds)
            self._similar.put(alike, similar)
        similar.messages[message] = None
        similar.last = seconds
        if len(similar.messages) < SIMILAR:
            return False
        del similar.messages[next(iter(similar.messages))]
        return True

    def _affordable(self, about: _Key, seconds: float) -> bool:
        bucket = self._buckets.get(about)
        if bucket is None:
            bucket = _Bucket(BURST, seconds)
            self._buckets.put(about, bucket)
        bucket.tokens = min(bucket.tokens + (seconds - bucket.filled) * REFILL_PER_SECOND, BURST)
        bucket.filled = seconds
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


class _Recent(Generic[V]):
    """A dictionary that forgets what was not asked for longest."""

    def __init__(self) -> None:
        self._entries: OrderedDict[_Key, V] = OrderedDict()

    def get(self, key: _Key) -> V | None:
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: _Key, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > _REMEMBERED:
            self._entries.popitem(last=False)
