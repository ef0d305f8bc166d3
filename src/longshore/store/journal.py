"""The protocol of a journal, which makes writes durable, and `NoJournal`, which keeps nothing.

A journal is written by one caller at a time, in the event loop or in the writer thread. The SQLite journal is
in sqlite.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from longshore.store.batch import Batch
from longshore.store.notes import Bundle
from longshore.store.types import Event

Durability = Literal["normal", "full"]
"""`normal`: an acknowledged write survives kill -9. `full`: power loss too."""


class Journal(Protocol):
    """A durable log of writes. Every method may raise `WriteFailed`, and then has changed nothing."""

    def is_quick(self, batch: Batch, was_slow: bool) -> bool:
        """Whether appending these writes takes well under a millisecond and waits for no disk; `was_slow`
        says that recent appends took long."""

    def stopwatch(self) -> float:
        """Seconds on the clock that measures commits; only differences count."""

    def append(self, events: Sequence[Event]) -> None:
        """Makes these writes durable, all or none."""

    def compact(self, revisions: Sequence[int], through: int) -> None:
        """Removes rows that nothing needs, and notes the revision before which history has gaps."""

    def note(self, bundle: Bundle, first: int) -> None:
        """Queues notes. The chore that writes them also removes earlier bundles of their shelf: those with a
        number below `first`."""

    def chore(self) -> Callable[[], None] | None:
        """A small step of housekeeping that is due, to be run between two commits; None when none is due."""

    def close(self) -> None:
        """Closes the journal. A journal that was never closed loses nothing."""


class NoJournal:
    """Keeps nothing: the store ends with the process."""

    def is_quick(self, batch: Batch, was_slow: bool) -> bool:
        return True

    def stopwatch(self) -> float:
        return 0.0  # takes no time worth measuring

    def append(self, events: Sequence[Event]) -> None:
        pass

    def compact(self, revisions: Sequence[int], through: int) -> None:
        pass

    def note(self, bundle: Bundle, first: int) -> None:
        pass

    def chore(self) -> None:
        return None

    def close(self) -> None:
        pass
