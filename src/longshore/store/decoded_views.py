"""Keeps a bounded number of entries decoded. Every other entry costs only its JSON bytes.

Decoded JSON takes about ten times the memory of its bytes, so budgets are counted in bytes of JSON. Entries
leave first in, first out; an entry that is asked for later is decoded again, in a few microseconds. There are
two exceptions:

- A view that other code holds too, such as an informer of this process, takes no extra memory. Forgetting it
  would free nothing, and the next writer would decode a second one. Such a view counts as lent and stays
  while it is held. Holders do not report when they drop a view, so lent views are checked in turn, and their
  bytes have a bound, too.
- A replaced state only serves watchers that have not read the change yet, so it is forgotten soon, and large
  ones sooner.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from sys import getrefcount
from typing import TYPE_CHECKING, Final

from msgspec.structs import force_setattr

if TYPE_CHECKING:
    from longshore.store.types import Entry

_MAX_LENT_BUDGETS: Final = 3
_ROOM_DIVISOR: Final = 32  # making room frees one part in 32 of the budget
_MAX_REPLACED_ENTRIES: Final = 512  # as many as one transaction brings, so that watchers read them first
_UNSHARED_REFERENCES: Final = 2  # to a view that only its entry holds: the entry, and `getrefcount` itself


class Decoded:
    """The entries of one store that hold their decoded view now, by revision."""

    __slots__ = ("_budget", "_bytes", "_kept", "_lent", "_lent_bytes", "_replaced", "_replaced_bytes")

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._bytes = 0
        self._kept: OrderedDict[int, Entry] = OrderedDict()
        self._lent: OrderedDict[int, Entry] = OrderedDict()
        self._lent_bytes = 0
        self._replaced: deque[Entry] = deque()
        self._replaced_bytes = 0

    def keep(self, entry: Entry) -> None:
        """Records an entry that has its decoded view, and drops the oldest views that no longer fit."""
        self._kept[entry.revision] = entry
        self._bytes += len(entry.raw)
        if self._bytes > self._budget:
            self._make_room()

    def replaced(self, entry: Entry) -> None:
        """Notes that this object has a newer state, or was deleted."""
        if entry._obj is not None:
            self._replaced.append(entry)
            self._replaced_bytes += len(entry.raw)
            while len(self._replaced) > _MAX_REPLACED_ENTRIES or self._replaced_bytes > self._budget:
                oldest = self._replaced.popleft()
                self._replaced_bytes -= len(oldest.raw)
                self._forget(oldest)

    def _make_room(self) -> None:
        """Drops or lends a few views more than needed, so that one call serves many writes. Then checks the
        same number of views that were lent earlier."""
        looked_at = 0
        while self._bytes > self._budget - self._budget // _ROOM_DIVISOR:
            revision, entry = self._kept.popitem(last=False)
            size = len(entry.raw)
            self._bytes -= size
            if (
                getrefcount(entry._obj) > _UNSHARED_REFERENCES
                and self._lent_bytes + size <= _MAX_LENT_BUDGETS * self._budget
            ):
                self._lent[revision] = entry
                self._lent_bytes += size
            else:
                force_setattr(entry, "_obj", None)
            looked_at += 1
        for _ in range(min(looked_at, len(self._lent))):
            revision, entry = self._lent.popitem(last=False)
            if getrefcount(entry._obj) > _UNSHARED_REFERENCES:
                self._lent[revision] = entry
            else:
                self._lent_bytes -= len(entry.raw)
                force_setattr(entry, "_obj", None)

    def _forget(self, entry: Entry) -> None:
        if self._kept.pop(entry.revision, None) is not None:
            self._bytes -= len(entry.raw)
        elif self._lent.pop(entry.revision, None) is not None:
            self._lent_bytes -= len(entry.raw)
        force_setattr(entry, "_obj", None)
