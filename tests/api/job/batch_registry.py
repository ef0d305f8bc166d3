"""A registry of Jobs and CronJobs in a dict: just the order of hooks, for replaying recorded writes."""

from __future__ import annotations

import itertools
from typing import Any

from longshore.api import codec, strategy
from longshore.api.errors import StatusError, invalid
from longshore.api.kinds import cronjob, job
from longshore.api.patch import merge_patch, strategic
from longshore.api.types import Obj, copy_of
from longshore.api.validation import metadata

KINDS = {"jobs": ("Job", job.STRATEGY), "cronjobs": ("CronJob", cronjob.STRATEGY)}
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
        kind, hooks = KINDS[plural]
        obj = self._decoded(plural, body)
        meta = obj["metadata"]
        for key in (
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ):
            meta.pop(key, None)
        meta.update(namespace=NAMESPACE, uid=next(self._uids), generation=1, creationTimestamp=NOW)
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"][:58] + SUFFIX
        context = strategy.Context(NOW)
        hooks.prepare_create(obj, context)
        problems = metadata.validate_create(meta, namespaced=True, name_rule=hooks.name_rule)
        problems += hooks.validate_create(obj)
        if problems:
            raise invalid("batch", kind, meta.get("name", ""), problems)
        warnings = hooks.warnings_create(obj)
        hooks.default(obj)
        self.objects[plural, meta["name"]] = obj
        return obj, warnings

    def update(self, plural: str, name: str, body: Any, subresource: str = "") -> tuple[Obj, list[str]]:
        return self._store(plural, name, self._decoded(plural, body), subresource)

    def merge(self, plural: str, name: str, patch: Any, subresource: str = "") -> tuple[Obj, list[str]]:
        whole = merge_patch.merged(copy_of(self.objects[plural, name]), patch)
        return self._store(plural, name, self._decoded(plural, whole), subresource)

    def strategic(self, plural: str, name: str, patch: Any) -> tuple[Obj, list[str]]:
        message = f"batch/v1.{KINDS[plural][0]}"
        whole = strategic.merged(copy_of(self.objects[plural, name]), patch, message)
        return self._store(plural, name, self._decoded(plural, whole), "")

    def _decoded(self, plural: str, body: Any) -> Obj:
        kind, hooks = KINDS[plural]
        obj = codec.from_value(copy_of(body), f"batch/v1.{kind}").obj
        hooks.default(obj)
        return obj

    def _store(self, plural: str, name: str, new: Obj, subresource: str) -> tuple[Obj, list[str]]:
        kind, hooks = KINDS[plural]
        old = self.objects[plural, name]
        meta, old_meta = new["metadata"], old["metadata"]
        for key in ("creationTimestamp", "generation"):
            meta[key] = old_meta[key]
        meta["namespace"] = NAMESPACE
        meta.setdefault("uid", old_meta["uid"])
        context = strategy.Context(NOW, subresource)
        if subresource:
            hooks.prepare_status(new, old, context)
        else:
            hooks.prepare_update(new, old)
            if hooks.generation_changed(new, old):
                meta["generation"] += 1
        problems = metadata.validate_update(meta, old_meta)
        if subresource:
            problems += hooks.validate_status(new, old)
        else:
            problems += hooks.validate_update(new, old)
        if problems:
            raise invalid("batch", kind, name, problems)
        warnings = [] if subresource else hooks.warnings_update(new, old)
        hooks.default(new)
        self.objects[plural, name] = new
        return new, warnings


__all__ = ["BatchRegistry", "StatusError"]
