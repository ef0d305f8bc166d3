"""Runs a kind's hooks in the order the server runs them, without a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from longshore.api import codec, errors, types
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.strategy import Context
from longshore.api.types import Obj
from longshore.api.validation import metadata

NOW = "2021-01-01T00:00:00Z"
UID = "11111111-2222-3333-4444-555555555555"


@dataclass(frozen=True)
class Kind:
    """One resource: `create` and the updates take a body as a client sends it and give the stored object,
    or raise the error a client would get."""

    resource: Resource

    def decode(self, body: Obj) -> Obj:
        strategy = self.resource.strategy
        obj = codec.from_value(types.copy_of(body), self.resource.message).obj
        strategy.default(obj)
        return strategy.to_storage(obj) if strategy.converts else obj

    def create(self, body: Obj, namespace: str = "team") -> Obj:
        strategy, context = self.resource.strategy, Context(NOW)
        obj = self.decode(body)
        meta = obj["metadata"]
        meta.update(uid=UID, creationTimestamp=NOW)
        if self.resource.namespaced:
            meta["namespace"] = namespace
        strategy.prepare_create(obj, context)
        problems = metadata.validate_create(
            meta, namespaced=self.resource.namespaced, name_rule=strategy.name_rule
        )
        self._raise(meta, problems + strategy.validate_create(obj))
        return obj

    def update(self, old: Obj, body: Obj, subresource: str = "") -> Obj:
        """`body` holds the fields that change; the rest stays as the client would have read it."""
        strategy, context = self.resource.strategy, Context(NOW, subresource)
        served = strategy.from_storage(old) if strategy.converts else old
        new = self.decode(types.copy_of({**served, **body}))
        if subresource == "status":
            strategy.prepare_status(new, old, context)
        elif subresource:
            strategy.prepare_subresource(new, old, context)
        else:
            strategy.prepare_update(new, old)
        meta = new["metadata"]
        if subresource == "status":
            problems = strategy.validate_status(new, old)
        elif subresource:
            problems = strategy.validate_subresource(new, old, context)
        else:
            problems = strategy.validate_update(new, old)
        self._raise(meta, metadata.validate_update(meta, old["metadata"]) + problems)
        return new

    def served(self, stored: Obj) -> Obj:
        strategy = self.resource.strategy
        return strategy.from_storage(stored) if strategy.converts else stored

    def refusal(self, action: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
        """What is wrong, without the words that name the object."""
        with pytest.raises(errors.StatusError) as caught:
            action(*args, **kwargs)
        return caught.value.message.partition(" is invalid: ")[2]

    def _raise(self, meta: Obj, problems: list[Any]) -> None:
        if problems:
            group = self.resource.storage_group
            raise errors.invalid(group, self.resource.kind, meta.get("name", ""), problems)


@pytest.fixture
def kind() -> Callable[..., Kind]:
    """The kind of a resource, by plural and group."""

    def find(plural: str, group: str = "") -> Kind:
        return Kind(next(r for r in table.RESOURCES if (r.group, r.plural) == (group, plural)))

    return find
