"""Runs a kind's hooks in the order the server runs them, without a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from longshore.api import errors
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.types import Obj
from support import hooks

NOW = "2021-01-01T00:00:00Z"
UID = "11111111-2222-3333-4444-555555555555"


@dataclass(frozen=True)
class Kind:
    """One resource: `create` and the updates take a body as a client sends it and give the stored object,
    or raise the error a client would get."""

    resource: Resource

    def create(self, body: Obj, namespace: str = "team") -> Obj:
        obj = hooks.decoded(self.resource, body)
        obj["metadata"].update(uid=UID, creationTimestamp=NOW)
        if self.resource.namespaced:
            obj["metadata"]["namespace"] = namespace
        hooks.create(self.resource, obj, NOW)
        return obj

    def update(self, old: Obj, body: Obj, subresource: str = "") -> Obj:
        """`body` holds the fields that change; the rest stays as the client would have read it."""
        new = hooks.decoded(self.resource, {**self.served(old), **body})
        hooks.update(self.resource, new, old, NOW, subresource)
        return new

    def served(self, stored: Obj) -> Obj:
        strategy = self.resource.strategy
        return strategy.from_storage(stored) if strategy.converts else stored

    def refusal(self, action: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
        """What is wrong, without the words that name the object."""
        with pytest.raises(errors.StatusError) as caught:
            action(*args, **kwargs)
        return caught.value.message.partition(" is invalid: ")[2]


@pytest.fixture
def kind() -> Callable[..., Kind]:
    """The kind of a resource, by plural and group."""

    def find(plural: str, group: str = "") -> Kind:
        return Kind(next(r for r in table.RESOURCES if (r.group, r.plural) == (group, plural)))

    return find
