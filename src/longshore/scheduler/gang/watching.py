"""What changes of groups, queues and priorities mean for the gang scheduler: a cycle soon, later, or none."""

from __future__ import annotations

from typing import Final, Protocol

from longshore.api.types import Obj
from longshore.machinery.informer import Handler

SOON: Final = 0.01
"""Long enough for the pods that one controller makes together to be seen together."""
BOUND: Final = 0.1
"""After a binding was seen: nobody waits for it, but phases follow."""
LATER: Final = 1.0
"""Volcano's own pace, for what only changes how things are told."""


class Looker(Protocol):
    """The gang scheduler, as far as handlers know it."""

    def look(self, within: float) -> None: ...

    def group_seen(self, group: Obj) -> None: ...

    def group_gone(self, group: Obj) -> None: ...


class Groups(Handler):
    def __init__(self, looker: Looker) -> None:
        self._looker = looker

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._looker.group_seen(obj)
        self._looker.look(SOON)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._looker.group_seen(new)
        if old.get("spec") != new.get("spec"):
            self._looker.look(SOON)
        elif old.get("status") != new.get("status"):
            self._looker.look(LATER)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._looker.group_gone(obj)
        self._looker.look(SOON)


class Queues(Handler):
    """Counters of queues change with every gang, and matter to nobody here."""

    def __init__(self, looker: Looker) -> None:
        self._looker = looker

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._looker.look(SOON)

    def on_update(self, old: Obj, new: Obj) -> None:
        before, after = old.get("status") or {}, new.get("status") or {}
        if before.get("state") != after.get("state") or old.get("spec") != new.get("spec"):
            self._looker.look(SOON)
        elif before.get("allocated") != after.get("allocated"):
            self._looker.look(LATER)  # should two writes have overtaken each other


class Anything(Handler):
    def __init__(self, looker: Looker) -> None:
        self._looker = looker

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._looker.look(SOON)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._looker.look(SOON)
