"""Behaviour of every custom resource, whether its schema is built in (Volcano's) or a user's.

A PUT must name the version it saw. With a /status subresource, status is apart: a write to /status
changes nothing else, not even labels. Without one, status is a field like any other, so changing it
moves the generation.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj, is_same

_ABSENT: Final = object()


class CustomResourceStrategy(Strategy):
    """A custom resource with a /status subresource."""

    unconditional_update: ClassVar[bool] = False

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        status: Any = new.get("status", _ABSENT)
        managed: Any = new["metadata"].get("managedFields", _ABSENT)
        new.clear()
        new.update((key, value) for key, value in old.items() if key != "status")
        new["metadata"] = {k: v for k, v in old["metadata"].items() if k != "managedFields"}
        if managed is not _ABSENT:
            new["metadata"]["managedFields"] = managed
        if status is not _ABSENT:
            new["status"] = status

    def generation_changed(self, new: Obj, old: Obj) -> bool:
        now, before = self._counted(new), self._counted(old)
        return now.keys() != before.keys() or not all(is_same(now[part], before[part]) for part in now)

    def _counted(self, obj: Obj) -> Obj:
        return {k: v for k, v in obj.items() if k not in ("metadata", "status")}


class WithoutStatusStrategy(CustomResourceStrategy):
    """A custom resource whose status, if it has one, is written with the rest."""

    has_status: ClassVar[bool] = False

    def _counted(self, obj: Obj) -> Obj:
        return {k: v for k, v in obj.items() if k != "metadata"}
