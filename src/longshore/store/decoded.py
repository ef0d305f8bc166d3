"""Keeps a bounded number of entries decoded. Everything else costs only its JSON bytes.

Decoded JSON takes about ten times the room of its bytes, so budgets are counted in bytes of JSON. First in,
first out: what is asked for again after that is decoded again, in a few microseconds. With two exceptions:

- A view that others hold too, such as an informer of this process, costs us nothing. To forget it would free
  nothing, and the next writer would make a second one. It is lent, and stays while it is held. Nobody says
  when they let go, so lent views are looked at in turn, and there is a bound for them as well.
- A state that was replaced only serves watchers that are still to hear of it, so it goes soon.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from sys import getrefcount
from typing import TYPE_CHECKING, Final

from msgspec.structs import force_setattr

if TYPE_CHECKING:
    from longshore.store.types import Entry

_LENT_BUDGETS: Final = 3
_STEP: Final = 32  # part of the budget that is made room at a time
_REPLACED: Final = 512  # as many as a transaction may bring, so that watchers hear of them first
_OURS: Final = 2  # references to a view that only its entry holds: from there, and from asking for the number


class Decoded:
    """The entries of one store that hold their decoded view at the moment, by revision."""

    __slots__ = ("_budget", "_bytes", "_kept", "_lent", "_lent_bytes", "_replaced")

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._bytes = 0
        self._kept: OrderedDict[int, Entry] = OrderedDict()
        self._lent: OrderedDict[int, Entry] = OrderedDict()
        self._lent_bytes = 0
        self._replaced: deque[Entry] = deque()

    def keep(self, entry: Entry) -> None:
        """Takes in an entry that has its decoded view, and detaches the oldest ones that no longer fit."""
        self._kept[entry.revision] = entry
        self._bytes += len(entry.raw)
        if self._bytes > self._budget:
            self._make_room()

    def replaced(self, entry: Entry) -> None:
        """Notes that there is a newer state of this object, or none any more."""
        if entry._obj is not None:
            self._replaced.append(entry)
            if len(self._replaced) > _REPLACED:
                self._forget(self._replaced.popleft())

    def _make_room(self) -> None:
        """Detaches, or lends, some more than it must, so that this is for many at a time. Then looks after as
        many of those that were lent before."""
        looked_at = 0
        while self._bytes > self._budget - self._budget // _STEP:
            revision, entry = self._kept.popitem(last=False)
            size = len(entry.raw)
            self._bytes -= size
            if getrefcount(entry._obj) > _OURS and self._lent_bytes + size <= _LENT_BUDGETS * self._budget:
                self._lent[revision] = entry
                self._lent_bytes += size
            else:
                force_setattr(entry, "_obj", None)
            looked_at += 1
        for _ in range(min(looked_at, len(self._lent))):
            revision, entry = self._lent.popitem(last=False)
            if getrefcount(entry._obj) > _OURS:
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
