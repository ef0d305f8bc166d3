"""Parts of objects that were written as protobuf lately, so that they need not be written again.

A part is known by the very dict it is. That holds for frozen objects alone: their parts are shared between
the states of an object, and between objects of one template, and nobody changes them. A kept part is held, so
no other dict can have its identity meanwhile.
"""

from __future__ import annotations

from typing import Any, Final

_MAX_PARTS: Final = 2048
_MAX_PART_BYTES: Final = 8192  # with both generations full of such parts: 32 MB


class Kept:
    """The parts written last, in two generations: when the younger one is full, the older one goes."""

    __slots__ = ("_old", "_young")

    def __init__(self) -> None:
        self._young: dict[int, tuple[Any, bytes]] = {}
        self._old: dict[int, tuple[Any, bytes]] = {}

    def get(self, part: Any) -> bytes | None:
        """The bytes of this part, if it was written lately."""
        found = self._young.get(id(part)) or self._old.get(id(part))
        return None if found is None else found[1]

    def put(self, part: Any, data: bytes) -> None:
        """Keeps the bytes of a part."""
        if len(data) > _MAX_PART_BYTES:
            return
        if len(self._young) >= _MAX_PARTS:
            self._old, self._young = self._young, {}
        self._young[id(part)] = part, data
