"""A store for simulations: nothing is kept on disk, and nobody asks who owns a field.

A shortcut: objects are stored without managedFields, and what has none gets none by a change. Owning fields
took 8 % of the time of 1,000 gangs, and half of an object's bytes (bench/sim.py).
"""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.store import Key, Store
from longshore.store.batch import Staged
from longshore.store.contents import FIRST_REVISION, Contents
from longshore.store.memory_limits import Limits

_LIMITS: Final = Limits(decoded_bytes=16 << 20)
"""A simulation is alone in its process, and short: it may spend memory on what it would decode again."""


class SimStore(Store):
    """Begins empty."""

    def __init__(self) -> None:
        super().__init__(None, Contents(_LIMITS, FIRST_REVISION, journalled=False), _LIMITS)
        self.owns_fields = False
        """Whether objects are stored with their managedFields, as without shortcuts."""

    def stage(self, key: Key, obj: Obj, *, joined: bool = False) -> Staged:
        if not self.owns_fields:
            obj["metadata"].pop("managedFields", None)
        return super().stage(key, obj, joined=joined)
