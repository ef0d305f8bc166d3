"""Answers of verbs, before they are rendered for one client's Accept header. One small type for each sort."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from longshore.api import types
from longshore.api.resources import Resource
from longshore.api.types import Obj

if TYPE_CHECKING:
    from longshore.apiserver.subresources.link import Link
    from longshore.store import Entry, Staged


class Answer(msgspec.Struct):
    """One object of `resource`: an `entry` of the store, or an `obj` that is not stored.

    `staged` holds the writes that must be durable before the client may see the answer.
    """

    resource: Resource
    obj: Obj | None = None
    entry: Entry | None = None
    code: int = 200
    staged: list[Staged] = msgspec.field(default_factory=list)

    def view(self) -> Obj:
        """The object as this resource serves it (without apiVersion and kind)."""
        return served(self.resource, self.obj if self.obj is not None else self._stored().obj)

    def raw(self) -> bytes:
        """The served object's JSON, without apiVersion and kind."""
        if self.obj is None:
            return served_raw(self.resource, self._stored())
        return types.encode(self.view())

    def _stored(self) -> Entry:
        assert self.entry is not None, "an answer has an object or an entry"
        return self.entry


class DocumentAnswer(msgspec.Struct):
    """A complete JSON document that is no object of the resource: a Status, a Scale."""

    document: Obj
    code: int = 200
    staged: list[Staged] = msgspec.field(default_factory=list)

    def view(self) -> Obj:
        """The document."""
        return self.document


class ListAnswer(msgspec.Struct):
    """A list: entries of one snapshot, with the revision and continue token that the client needs next."""

    resource: Resource
    entries: list[Entry]
    revision: int
    continue_: str = ""
    remaining: int | None = None
    staged: list[Staged] = msgspec.field(default_factory=list)
    code: int = 200

    def metadata(self) -> Obj:
        out: Obj = {"resourceVersion": str(self.revision)}
        if self.continue_:
            out["continue"] = self.continue_
            if self.remaining:
                out["remainingItemCount"] = self.remaining
        return out


class LogAnswer(msgspec.Struct):
    """A log, as a stream of text; None for a pod without a node, which has no log yet."""

    text: AsyncGenerator[bytes, None] | None


class LinkAnswer(msgspec.Struct):
    """A request for a connection in both directions that has passed all checks."""

    link: Link


Rendered = Answer | DocumentAnswer | ListAnswer
"""Answers with a body that is known as a whole."""
Found = Answer | DocumentAnswer | ListAnswer | LogAnswer | LinkAnswer
"""Every answer that a verb can give."""


class Later(msgspec.Struct):
    """An answer that must wait, for the node or for a resourceVersion that the store has not reached."""

    work: Callable[[], Awaitable[Found]]


def served(resource: Resource, obj: Obj) -> Obj:
    """The form of a stored object that this resource's version serves."""
    return resource.strategy.from_storage(obj) if resource.strategy.converts else obj


def served_raw(resource: Resource, entry: Entry) -> bytes:
    """The JSON of the served form: the stored bytes if they already have that form."""
    if resource.strategy.converts:
        view = resource.strategy.from_storage(entry.obj)
        if view is not entry.obj:
            return types.encode(view)
    return entry.raw
