"""Expectations: writes of a controller that its cache does not show yet, so that the cache is too old.

`Expectations` counts creations and deletions per key and gives up after five minutes, since a lost event must
not stop a controller for ever. `UidExpectations` remembers which objects, and never gives up. Both are kept
in memory only; a restarted controller lists everything again and expects nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from typing import Final, Generic, NamedTuple, TypeVar

from longshore.machinery.time.clock import Clock

K = TypeVar("K", bound=Hashable)

TIMEOUT_SECONDS: Final = 300.0


class Pending(NamedTuple):
    """Creations and deletions still to be seen. Negative if more were seen than expected."""

    creations: int
    deletions: int


class Expectations(Generic[K]):
    """Counts expected creations and deletions per key."""

    def __init__(self, clock: Clock, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self._clock, self._timeout = clock, timeout
        self._expectations: dict[K, _Expectation] = {}

    def expect_creations(self, key: K, count: int) -> None:
        """Expects `count` creations and no deletion, in place of what was expected before."""
        self._expectations[key] = _Expectation(count, 0, self._clock.monotonic())

    def expect_deletions(self, key: K, count: int) -> None:
        """Expects `count` deletions and no creation, in place of what was expected before."""
        self._expectations[key] = _Expectation(0, count, self._clock.monotonic())

    def creations_observed(self, key: K, count: int = 1) -> None:
        """Counts creations that were seen or will not come. No effect if nothing is expected."""
        known = self._expectations.get(key)
        if known is not None:
            known.creations -= count

    def deletions_observed(self, key: K, count: int = 1) -> None:
        """Counts deletions that were seen or will not come. No effect if nothing is expected."""
        known = self._expectations.get(key)
        if known is not None:
            known.deletions -= count

    def satisfied(self, key: K) -> bool:
        """Whether the cache shows all writes: nothing is expected any more, or the timeout has passed."""
        return self.patience(key) is None

    def patience(self, key: K) -> float | None:
        """Seconds until the expectation is given up; None if it is satisfied. A waiting controller must sync
        again at that time, since the event may never come."""
        known = self._expectations.get(key)
        if known is None or (known.creations <= 0 and known.deletions <= 0):
            return None
        left = known.since + self._timeout - self._clock.monotonic()
        return left if left > 0 else None

    def pending(self, key: K) -> Pending | None:
        """The expectation of a key; None if there never was one."""
        known = self._expectations.get(key)
        return None if known is None else Pending(known.creations, known.deletions)

    def forget(self, key: K) -> None:
        self._expectations.pop(key, None)


class _Expectation:
    __slots__ = ("creations", "deletions", "since")

    def __init__(self, creations: int, deletions: int, since: float) -> None:
        self.creations, self.deletions, self.since = creations, deletions, since


_NONE: Final[Set[str]] = frozenset()


class UidExpectations(Generic[K]):
    """Per key, the UIDs of objects for which an event is expected, such as a finalizer's removal."""

    def __init__(self) -> None:
        self._expectations: dict[K, set[str]] = {}

    def expect(self, key: K, uids: Iterable[str]) -> None:
        """Expects an event of these objects too."""
        self._expectations.setdefault(key, set()).update(uids)

    def observed(self, key: K, uid: str) -> None:
        """Removes a UID: its event was seen or will not come."""
        known = self._expectations.get(key)
        if known is not None:
            known.discard(uid)
            if not known:
                del self._expectations[key]

    def uids(self, key: K) -> Set[str]:
        """The UIDs still expected. A live view that shrinks as events arrive; copy it to keep it."""
        return self._expectations.get(key, _NONE)

    def forget(self, key: K) -> None:
        self._expectations.pop(key, None)
