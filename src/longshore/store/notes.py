"""Notes that other parts of longshore keep beside the objects: bundles of bytes, bounded by age and number.

Notes are not objects: they cannot be watched, have no revision, and the store does not read them. All of them
are in memory, and in a table of their own if there is a journal. A bundle is written between two commits, and
no write waits for it; the last one may be lost with the process, and all may be lost on a full disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from longshore.api.retention import Retention


class Shelf(NamedTuple):
    """A place for notes of one sort, with its bounds."""

    name: str
    max_notes: int
    max_age_seconds: float


def reasons(limits: Retention) -> Shelf:
    """The shelf for reasons (`machinery/records.py`)."""
    return Shelf("reasons", limits.reasons, limits.reasons_age)


def finished_jobs(limits: Retention) -> Shelf:
    """The shelf for records of Jobs that have ended and did not fail (`plane/job_history.py`)."""
    return Shelf("finished-jobs", limits.history, limits.history_age)


def failed_jobs(limits: Retention) -> Shelf:
    """The shelf for records of Jobs that failed. Records of other Jobs do not displace them."""
    return Shelf("failed-jobs", limits.history, limits.history_age)


class Bundle(NamedTuple):
    """Some notes that were kept together."""

    shelf: str
    number: int
    """Rises by one from bundle to bundle of a shelf."""
    at: float
    """Seconds since 1970."""
    notes: int
    data: bytes


Write = Callable[[Bundle, int], None]
"""Writes a bundle some time soon, and removes the bundles of its shelf before this number."""


class Notes:
    """The bundles that are kept on a shelf, oldest first. `found` may hold bundles of other shelves, too."""

    def __init__(
        self, shelf: Shelf, found: Iterable[Bundle] = (), write: Write = lambda bundle, first: None
    ) -> None:
        self._shelf = shelf
        self._kept = deque(bundle for bundle in found if bundle.shelf == shelf.name)
        self._total = sum(bundle.notes for bundle in self._kept)
        self._next = self._kept[-1].number + 1 if self._kept else 1
        self._write = write

    def add(self, at: float, notes: int, data: bytes) -> None:
        """Keeps `data`, which holds `notes` notes, and drops bundles beyond the shelf's number or age."""
        shelf = self._shelf
        bundle = Bundle(shelf.name, self._next, at, notes, data)
        self._next += 1
        self._kept.append(bundle)
        self._total += notes
        while len(self._kept) > 1 and (
            self._total > shelf.max_notes or self._kept[0].at < at - shelf.max_age_seconds
        ):
            self._total -= self._kept.popleft().notes
        self._write(bundle, self._kept[0].number)

    def __iter__(self) -> Iterator[bytes]:
        return (bundle.data for bundle in self._kept)

    def __len__(self) -> int:
        """The number of notes."""
        return self._total
