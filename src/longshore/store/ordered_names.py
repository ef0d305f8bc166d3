"""Sorted names in short lists: adding one costs the same among a thousand and a hundred thousand.

One list of all names would be moved as a whole for each new name, and a tree is slow in Python. With lists of
about 512 names, finding a place or reading a page from there touches two lists.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

_CHUNK_NAMES: Final = 512
_REBUILD_DIVISOR: Final = 16
"""If more than one name in 16 changed, sorting all names again is quicker."""


class OrderedNames:
    """A sorted set of names."""

    __slots__ = ("_chunks", "_lasts", "_size")

    def __init__(self) -> None:
        self._chunks: list[list[str]] = []
        """No chunk is empty."""
        self._lasts: list[str] = []
        """The last name of each chunk."""
        self._size = 0

    def change(self, added: set[str], gone: set[str]) -> None:
        """Adds the names `added`, which must be new, and removes the names `gone`, which must exist."""
        if (len(added) + len(gone)) * _REBUILD_DIVISOR > self._size:
            names = [name for chunk in self._chunks for name in chunk if name not in gone]
            names += sorted(added)
            names.sort()  # two sorted runs: one merge
            self._chunks = [names[at : at + _CHUNK_NAMES] for at in range(0, len(names), _CHUNK_NAMES)]
            self._lasts = [chunk[-1] for chunk in self._chunks]
        else:
            for name in gone:
                self._remove(name)
            for name in added:
                self._add(name)
        self._size += len(added) - len(gone)

    def from_(self, start: str) -> Iterator[list[str]]:
        """The names at and after `start`, which need not exist, in lists that callers must not change."""
        at = bisect_left(self._lasts, start)
        if at == len(self._chunks):
            return
        chunk = self._chunks[at]
        begin = bisect_left(chunk, start)
        yield chunk[begin:] if begin else chunk
        yield from self._chunks[at + 1 :]

    def count_from(self, start: str) -> int:
        """The number of names at and after `start`."""
        at = bisect_left(self._lasts, start)
        if at == len(self._chunks):
            return 0
        return sum(map(len, self._chunks[at:])) - bisect_left(self._chunks[at], start)

    def _add(self, name: str) -> None:
        lasts = self._lasts
        if not lasts:
            self._chunks.append([name])
            lasts.append(name)
            return
        at = min(bisect_left(lasts, name), len(lasts) - 1)
        chunk = self._chunks[at]
        insort(chunk, name)
        if len(chunk) > 2 * _CHUNK_NAMES:
            self._chunks[at : at + 1] = [chunk[:_CHUNK_NAMES], chunk[_CHUNK_NAMES:]]
            lasts[at : at + 1] = [chunk[_CHUNK_NAMES - 1], chunk[-1]]
        else:
            lasts[at] = chunk[-1]

    def _remove(self, name: str) -> None:
        at = bisect_left(self._lasts, name)
        chunk = self._chunks[at]
        del chunk[bisect_left(chunk, name)]
        if chunk:
            self._lasts[at] = chunk[-1]
        else:
            del self._chunks[at], self._lasts[at]
