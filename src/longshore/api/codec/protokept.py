"""Parts of objects that were written as protobuf lately, so that they need not be written again.

A part is known by the very dict it is. That holds for frozen objects alone: their parts are shared between
the states of an object, and between objects of one template, and nobody changes them. A kept part is held, so
no other dict can have its identity meanwhile.
"""

from __future__ import annotations

from typing import Any, Final

_MAX_PARTS: Final = 2048
_MAX_PART_BYTES: Final = 8192  # with both generations full of such parts: 32 MB


class Kept(dict[int, tuple[Any, bytes]]):
    """The parts written last and their bytes, by the part's identity. When there are too many, they become
    the older ones, and those go.

    A dict, because a part is looked up five times for an object.
    """

    __slots__ = ("_old",)

    def __init__(self) -> None:
        self._old: dict[int, tuple[Any, bytes]] = {}

    def older(self, part: Any) -> bytes | None:
        """The bytes of this part, if it is among the older ones."""
        found = self._old.get(id(part))
        return None if found is None else found[1]

    def put(self, part: Any, data: bytes) -> None:
        """Keeps the bytes of a part."""
        if len(data) > _MAX_PART_BYTES:
            return
        if len(self) >= _MAX_PARTS:
            self._old = dict(self)
            self.clear()
        self[id(part)] = part, data
