"""A registry of Jobs and CronJobs in a dict: just the order of hooks, for replaying recorded writes."""

from __future__ import annotations

import itertools
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.patch import merge_patch, strategic
from longshore.api.types import Obj, copy_of
from support import hooks

ROWS = {row.plural: row for row in table.RESOURCES if row.group == "batch"}
NAMESPACE = "demo"
SUFFIX = "24567"
"""The end of every generated name; what is random is the business of the real registry."""
NOW = "2026-01-01T00:00:00Z"


class BatchRegistry:
    """Create, update and patch. Answers (object, warnings) or raises StatusError."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Obj] = {}
        self._uids = (f"00000000-0000-0000-0000-{i:012d}" for i in itertools.count(1))

    def create(self, plural: str, body: Any) -> tuple[Obj, list[str]]:
        row = ROWS[plural]
        obj = hooks.decoded(row, body)
        meta = obj["metadata"]
        for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            meta.pop(key, None)
        meta.update(namespace=NAMESPACE, uid=next(self._uids), generation=1, creationTimestamp=NOW)
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"][:58] + SUFFIX
        hooks.create(row, obj, NOW)
        warnings = row.strategy.warnings_create(obj)
        row.strategy.default(obj)
        self.objects[plural, meta["name"]] = obj
        return obj, warnings

    def update(self, plural: str, name: str, body: Any, subresource: str = "") -> tuple[Obj, list[str]]:
        row, old = ROWS[plural], self.objects[plural, name]
        new = hooks.decoded(row, body)
        for key in ("creationTimestamp", "generation"):
            new["metadata"][key] = old["metadata"][key]
        new["metadata"]["namespace"] = NAMESPACE
        new["metadata"].setdefault("uid", old["metadata"]["uid"])
        hooks.update(row, new, old, NOW, subresource)
        warnings = [] if subresource else row.strategy.warnings_update(new, old)
        row.strategy.default(new)
        self.objects[plural, name] = new
        return new, warnings

    def merge(self, plural: str, name: str, patch: Any, subresource: str = "") -> tuple[Obj, list[str]]:
        whole = merge_patch.merged(copy_of(self.objects[plural, name]), patch)
        return self.update(plural, name, whole, subresource)

    def strategic(self, plural: str, name: str, patch: Any) -> tuple[Obj, list[str]]:
        whole = strategic.merged(copy_of(self.objects[plural, name]), patch, ROWS[plural].message)
        return self.update(plural, name, whole)


__all__ = ["BatchRegistry", "StatusError"]
