"""Specs of Jobs and PodGroups that were found to be in order: objects that are alike share theirs, and what
is right about it once is right about it for all.

Known by identity, which is enough because what is stored never changes; a few are remembered. Whether the
queue takes an object is nothing of the spec alone and always asked anew.
"""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj

_MOST: Final = 64


class Passed:
    """The last specs that passed, each with the longest name of an object that it passed with: the names of a
    Job's pods begin with its own."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Obj, int]] = {}

    def covers(self, spec: Obj, name: str) -> bool:
        known = self._known.get(id(spec))
        return known is not None and known[0] is spec and len(name) <= known[1]

    def add(self, spec: Obj, name: str) -> None:
        self._known.pop(id(spec), None)
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[id(spec)] = spec, len(name)
