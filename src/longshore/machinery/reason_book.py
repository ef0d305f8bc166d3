"""The book of reasons: takes a record of each new one, and puts them on a shelf once a second.

The shelf is the store's notes; what was written since the last second is lost with the process. Controllers
outside, where there is no store, make Events of their reasons instead (`up/outside/event_reasons.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Protocol

from longshore.machinery import records
from longshore.machinery.explanations import Tell
from longshore.machinery.informers.cache import Key
from longshore.machinery.reasons import Reason
from longshore.machinery.records import Name, Record
from longshore.machinery.time.clock import Clock

FLUSH_SECONDS: Final = 1.0


class Shelf(Protocol):
    """Where bundles of records are kept, bounded by age and number."""

    def add(self, at: float, notes: int, data: bytes) -> None:
        """Keeps a bundle of so many records."""

    def __iter__(self) -> Iterator[bytes]:
        """All bundles that are kept, oldest first."""


class Tellers(ABC):
    """Takes reasons, and keeps them somewhere."""

    @abstractmethod
    def note(self, record: Record) -> None:
        """Keeps a record. Returns at once."""

    def teller(self, kind: str, who: str) -> Tell:
        """Takes what `who` says of objects of this kind."""

        def tell(key: Key, uid: str, at: float, reason: Reason) -> None:
            code, words, numbers = reason
            self.note(Record(at, kind, key[0], key[1], uid, who, code, words, dict(numbers)))

        return tell

    def teller_of_many(self, kinds: Mapping[str, str], who: str) -> Tell:
        """Takes what `who` says of objects of several kinds, whose names are `jobs.batch/hello` in its keys.
        `kinds` are the kinds that are kept, by resource."""

        def tell(key: Key, uid: str, at: float, reason: Reason) -> None:
            resource, _, name = key[1].partition("/")
            if kind := kinds.get(resource):
                code, words, numbers = reason
                self.note(Record(at, kind, key[0], name, uid, who, code, words, dict(numbers)))

        return tell


class Untold(Tellers):
    """Keeps no reasons."""

    def note(self, record: Record) -> None:
        pass

    def teller(self, kind: str, who: str) -> Tell:
        return _unheard

    def teller_of_many(self, kinds: Mapping[str, str], who: str) -> Tell:
        return _unheard


def _unheard(key: Key, uid: str, at: float, reason: Reason) -> None:
    """Nobody keeps it."""


class ReasonBook(Tellers):
    """One for all controllers, schedulers and nodes of a process."""

    def __init__(self, clock: Clock, shelf: Shelf) -> None:
        self._clock, self._shelf = clock, shelf
        self._new: list[Record] = []

    def note(self, record: Record) -> None:
        if not self._new:
            self._clock.call_later(FLUSH_SECONDS, self.flush)
        self._new.append(record)

    def flush(self) -> None:
        """Puts what is new on the shelf."""
        new, self._new = self._new, []
        if new:
            self._shelf.add(self._clock.timestamp(), len(new), records.encode(new))

    def of(self, names: Collection[Name]) -> list[Record]:
        """The records of these objects, oldest first."""
        self.flush()
        return records.of(self._shelf, names)
