"""Answers of verbs, before they are rendered for one client's Accept header."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import msgspec

from longshore.api import types
from longshore.api.resources import Resource
from longshore.api.types import Obj

if TYPE_CHECKING:
    from longshore.apiserver.subresources.link import Link
    from longshore.store import Entry, Staged


class Answer(msgspec.Struct):
    """One object of `resource`, or with `document` some other complete JSON document.

    `staged` holds the writes that must be durable before the client may see the answer. `stream` is text as
    it comes, `link` a wish for a connection in both directions.
    """

    resource: Resource
    obj: Obj | None = None
    entry: Entry | None = None
    code: int = 200
    document: Obj | None = None
    staged: list[Staged] = msgspec.field(default_factory=list)
    stream: AsyncGenerator[bytes, None] | None = None
    link: Link | None = None

    def view(self) -> Obj:
        """The object as this resource serves it (without apiVersion and kind)."""
        return served(self.resource, self.obj if self.obj is not None else self._stored().obj)

    def raw(self) -> bytes:
        """The served object's JSON, without apiVersion and kind."""
        if self.obj is None:
            return served_raw(self.resource, self._stored())
        return types.encode(self.view())

    def _stored(self) -> Entry:
        assert self.entry is not None, "an answer has an object, an entry or a document"
        return self.entry


def served(resource: Resource, obj: Obj) -> Obj:
    """The form of a stored object that this resource's version serves."""
    return resource.strategy.from_storage(obj) if resource.strategy.converts else obj


def served_raw(resource: Resource, entry: Entry) -> bytes:
    """The served object as JSON, from the stored bytes wherever they are the served form."""
    if resource.strategy.converts:
        view = resource.strategy.from_storage(entry.obj)
        if view is not entry.obj:
            return types.encode(view)
    return entry.raw


class ListAnswer(msgspec.Struct):
    """A list: entries of one snapshot, with what a client needs to go on."""

    resource: Resource
    entries: list[Entry]
    revision: int
    continue_: str = ""
    remaining: int | None = None
    staged: list[Staged] = msgspec.field(default_factory=list)

    def metadata(self) -> Obj:
        out: Obj = {"resourceVersion": str(self.revision)}
        if self.continue_:
            out["continue"] = self.continue_
            if self.remaining:
                out["remainingItemCount"] = self.remaining
        return out
