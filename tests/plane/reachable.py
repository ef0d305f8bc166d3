"""Everything that a running plane holds in memory, walked from its tasks and from longshore's modules.

Stores that are bounded by number or bytes are not walked into: each is named here with its bound, and has
tests of its own. So what the walk finds of an object that is gone was forgotten by nobody.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import sys
import types
from collections import deque
from typing import Any
from weakref import WeakSet

import msgspec

from longshore.api.apply.compare import ComparePlan
from longshore.apiserver.shortcuts.same_spec import SameSpec
from longshore.controllers.garbage.owners import Absent
from longshore.machinery.events.correlation import Correlator
from longshore.machinery.events.siblings import Siblings
from longshore.machinery.explanations import Explanations
from longshore.node.pod.starting import UnusedImages
from longshore.store.decoded_views import Decoded
from longshore.store.notes import Notes
from longshore.store.window import Window
from longshore.testing import ScriptedMachine, ScriptedPreparer

BOUNDED: dict[type, str] = {
    Absent: "500 owners that are gone",
    Correlator: "4,096 events of each component",
    Decoded: "4 MiB of objects that are kept decoded",
    Explanations: "2,000 objects looked at lately",
    Notes: "30,000 reasons and 5,000 records of Jobs",
    ComparePlan: "64 texts for each list of a schema",
    Siblings: "1,024 owners of pods",
    SameSpec: "64 specs",
    UnusedImages: "1,024 owners of pods and their images",
    Window: "50,000 changes",
}
FAKES = (ScriptedMachine, ScriptedPreparer)
"""Stand-ins of the machine, which remember all that happened."""
_CONTAINERS = (dict, list, set, deque)


class Walk:
    """One walk: all texts and all containers that it found. Another walk does not look into it."""

    def __init__(self) -> None:
        gc.collect()
        self.sizes: dict[int, int] = {}
        """Entries of each container, by its address."""
        self.texts: list[str | bytes] = []
        self._above: dict[int, Any] = {}
        self._kept: list[Any] = []  # an address must not be used twice during the walk
        loop = asyncio.get_running_loop()
        modules = [each for name, each in sys.modules.items() if name.partition(".")[0] == "longshore"]
        self._go([*modules, *asyncio.all_tasks(), *loop.__dict__.values()])

    def way_to(self, found: object, steps: int = 7) -> str:
        """How an object is reached, from it upwards."""
        names = []
        while found is not None and len(names) < steps:
            above = self._above.get(id(found))
            attribute = _attribute(above, found)
            names.append(f"{attribute}{': ' if attribute else ''}{type(found).__name__}")
            found = above
        return " < ".join(names)

    def grown_since(self, before: Walk, by: int) -> list[str]:
        """The containers that were there before and have so many entries more."""
        return [
            f"{size - before.sizes[address]} more: {self.way_to(found)}"
            for found in self._kept
            if (size := self.sizes.get(address := id(found), 0)) - before.sizes.get(address, size) > by
        ]

    def _go(self, roots: list[Any]) -> None:
        waiting = deque(roots)
        seen = set[int]()
        while waiting:
            found = waiting.popleft()
            if id(found) in seen:
                continue
            seen.add(id(found))
            self._kept.append(found)
            if isinstance(found, str | bytes):
                self.texts.append(found)
                continue
            if isinstance(found, (*BOUNDED, *FAKES, Walk)) or _is_foreign(found):
                continue
            if isinstance(found, _CONTAINERS):
                self.sizes[id(found)] = len(found)
            for below in _below(found):
                if id(below) not in seen:
                    self._above.setdefault(id(below), found)
                    waiting.append(below)


def _below(found: Any) -> list[Any]:
    if isinstance(found, msgspec.Struct):  # one without the collector's help has no referents
        return [getattr(found, name) for name in found.__struct_fields__]
    return gc.get_referents(found)


def _is_foreign(found: Any) -> bool:
    if isinstance(found, types.ModuleType):
        return found.__name__.partition(".")[0] != "longshore"
    if isinstance(found, functools._lru_cache_wrapper):
        return found.cache_parameters()["maxsize"] is not None  # bounded
    if isinstance(found, WeakSet):  # holds nothing; and `Walk` holds what it found
        return True
    return isinstance(found, types.FrameType) or type(found).__module__.startswith("_pytest")


def _attribute(above: Any, found: Any) -> str:
    if isinstance(above, dict):
        return next((str(key)[:30] for key, value in above.items() if value is found), "")
    for name in getattr(type(above), "__slots__", ()) or ():
        if isinstance(name, str) and getattr(above, name, None) is found:
            return name
    return next((name for name, value in getattr(above, "__dict__", {}).items() if value is found), "")
