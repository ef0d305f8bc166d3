"""The book of reasons: records each new reason, and writes the records to a shelf once a second.

The shelf is the store's notes; records of the last second are lost if the process dies. Controllers in a
process of their own have no store and write Events instead (`up/outside/outside_process.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Protocol, TypeAlias

from longshore.machinery import records
from longshore.machinery.explanations import Tell
from longshore.machinery.informers.cache import Key
from longshore.machinery.reasons import Reason
from longshore.machinery.records import Name, Record
from longshore.machinery.time.clock import Clock

FLUSH_SECONDS: Final = 1.0
Kinds: TypeAlias = str | tuple[str, str] | Mapping[str, str]
"""A kind; or that of objects with a namespace and that of others; or, by resource, the kinds of objects with
keys such as `jobs.batch/hello`, of which others are not recorded."""


class Shelf(Protocol):
    """A store for bundles of records, bounded by age and number."""

    def add(self, at: float, notes: int, data: bytes) -> None:
        """Keeps a bundle of `notes` records."""

    def __iter__(self) -> Iterator[bytes]:
        """All bundles that are kept, oldest first."""


class Tellers(ABC):
    """Accepts reasons and keeps them."""

    @abstractmethod
    def note(self, record: Record) -> None:
        """Keeps a record. Returns at once."""

    def teller(self, kind: Kinds, who: str) -> Tell:
        """A function that records what `who` says about objects of this kind, or of these kinds."""

        def tell(key: Key, uid: str, at: float, reason: Reason) -> None:
            word, name = _kind_of(kind, key)
            if word:
                self.note(Record(at, word, key[0], name, uid, who, reason.code, numbers=dict(reason.numbers)))

        return tell


class Untold(Tellers):
    """Drops all reasons."""

    def note(self, record: Record) -> None:
        pass

    def teller(self, kind: Kinds, who: str) -> Tell:
        return _unheard


def _kind_of(kind: Kinds, key: Key) -> tuple[str, str]:
    """The kind of the object with this key, empty if it is not recorded; and the object's name."""
    if isinstance(kind, str):
        return kind, key[1]
    if isinstance(kind, tuple):
        return kind[0] if key[0] else kind[1], key[1]
    resource, _, name = key[1].partition("/")
    return kind.get(resource, ""), name


def _unheard(key: Key, uid: str, at: float, reason: Reason) -> None:
    """Drops the reason."""


class ReasonBook(Tellers):
    """The reasons of all controllers, schedulers and nodes of a process."""

    def __init__(self, clock: Clock, shelf: Shelf) -> None:
        self._clock, self._shelf = clock, shelf
        self._new: list[Record] = []

    def note(self, record: Record) -> None:
        if not self._new:
            self._clock.call_later(FLUSH_SECONDS, self.flush)
        self._new.append(record)

    def flush(self) -> None:
        """Writes the new records to the shelf."""
        new, self._new = self._new, []
        if new:
            self._shelf.add(self._clock.timestamp(), len(new), records.encode(new))

    def of(self, names: Collection[Name]) -> list[Record]:
        """The records of these objects, oldest first."""
        self.flush()
        return records.of(self._shelf, names)
