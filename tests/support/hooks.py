"""The hooks of a resource in the order in which the server calls them, without a server."""

from __future__ import annotations

from typing import Any

from longshore.api import codec, errors
from longshore.api.kinds import table
from longshore.api.patch import merge_patch
from longshore.api.resources import Resource
from longshore.api.strategy import Context
from longshore.api.types import Obj, copy_of
from longshore.api.validation import metadata

NOW = "2026-01-02T03:04:05Z"
UID = "11111111-2222-3333-4444-555555555555"


def decoded(resource: Resource, body: Any) -> Obj:
    """What a client sends, as an object of the store, with defaults."""
    strategy = resource.strategy
    obj = codec.from_value(copy_of(body), resource.message).obj
    strategy.default(obj)
    return strategy.to_storage(obj) if strategy.converts else obj


def create(resource: Resource, obj: Obj, now: str) -> None:
    """Prepares and checks an object; raises the error that a client would get."""
    strategy, meta = resource.strategy, obj["metadata"]
    strategy.prepare_create(obj, Context(now))
    problems = metadata.validate_create(meta, namespaced=resource.namespaced, name_rule=strategy.name_rule)
    _raise(resource, obj, problems + strategy.validate_create(obj))


def update(resource: Resource, new: Obj, old: Obj, now: str, subresource: str = "") -> None:
    """Prepares and checks a new state of an object, or of a subresource; raises as a client would see it."""
    strategy, context, meta = resource.strategy, Context(now, subresource), new["metadata"]
    before = copy_of(old)
    if subresource == "status":
        strategy.prepare_status(new, old, context)
    elif subresource:
        strategy.prepare_subresource(new, old, context)
    else:
        strategy.prepare_update(new, old)
        if strategy.counts_generation and "generation" in meta and strategy.generation_changed(new, old):
            meta["generation"] += 1
    problems = metadata.validate_update(meta, old["metadata"])
    if subresource == "status":
        problems += strategy.validate_status(new, old)
    elif subresource:
        problems += strategy.validate_subresource(new, old, context)
    else:
        problems += strategy.validate_update(new, old)
    assert old == before, "the stored object was changed in place"
    _raise(resource, new, problems)


def _raise(resource: Resource, obj: Obj, problems: list[Any]) -> None:
    if problems:
        name = obj["metadata"].get("name", "")
        raise errors.invalid(resource.storage_group, resource.kind, name, problems)


class Registry:
    """The objects of one resource in a namespace. Every call answers the object or raises what a client would
    see."""

    def __init__(self, plural: str, group: str = "") -> None:
        self.row = next(row for row in table.RESOURCES if (row.group, row.plural) == (group, plural))
        self.stored: dict[str, Obj] = {}
        self.warnings: list[str] = []
        """Those of the last creation."""

    def admit(self, obj: Obj, old: Obj | None) -> None:
        """Is called before a creation, or the update of a whole object."""

    def create(self, body: Any) -> Obj:
        obj, strategy = decoded(self.row, body), self.row.strategy
        self.admit(obj, None)
        obj["metadata"] |= {"namespace": "ns", "uid": UID, "creationTimestamp": NOW, "generation": 1}
        strategy.default(obj)
        create(self.row, obj, NOW)
        self.warnings = strategy.warnings_create(obj)
        strategy.default(obj)
        self.stored[obj["metadata"]["name"]] = obj
        return obj

    def replace(self, body: Any, subresource: str = "") -> Obj:
        obj = decoded(self.row, body)
        meta = obj["metadata"]
        old = self.stored[meta["name"]]
        if not subresource:
            self.admit(obj, old)
        for key in ("uid", "namespace", "creationTimestamp", "generation"):
            meta[key] = old["metadata"][key]
        self.row.strategy.default(obj)
        update(self.row, obj, old, NOW, subresource)
        self.row.strategy.default(obj)
        self.stored[meta["name"]] = obj
        return obj

    def patch(self, name: str, patch: Any, subresource: str = "") -> Obj:
        return self.replace(merge_patch.merged(copy_of(self.stored[name]), patch), subresource)
