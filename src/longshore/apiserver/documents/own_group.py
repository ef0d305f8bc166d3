"""Resources whose documents are made on request: longshore.dev, and metrics.k8s.io.

Nothing of them is stored as an object. A resource is a row, for discovery and for RBAC, and a function that
makes its documents; the parts of an Api bring both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from longshore.api import errors
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.answer import DocumentAnswer
from longshore.apiserver.request.call import Call

Maker = Callable[[Call], Awaitable[Obj | None]]
"""Makes the document that is asked for, without apiVersion and kind; None where there is none."""


class MadeDocument(NamedTuple):
    """One resource and the maker of its answers."""

    row: Resource
    make: Callable[[Call], Awaitable[DocumentAnswer]]


def document(resource: Resource, maker: Maker) -> MadeDocument:
    """A resource of this group with the maker of its documents."""

    async def answer(call: Call) -> DocumentAnswer:
        made = await maker(call)
        if made is None:
            raise errors.not_found(resource.group, resource.plural, call.name)
        kind = resource.list_kind if call.verb == "list" else resource.kind
        typed = {"kind": kind, "apiVersion": resource.group_version, **made}
        return DocumentAnswer(typed, 201 if call.verb == "create" else 200)

    return MadeDocument(resource, answer)


class MadeDocuments:
    """The table of all such resources of an Api."""

    def __init__(self, documents: Iterable[MadeDocument]) -> None:
        by_name = {(made.row.group, made.row.version, made.row.plural): made for made in documents}
        self._by_name = by_name
        self.rows = tuple(made.row for made in by_name.values())
        """The rows of all these resources, for discovery, which compares this tuple by identity."""
        self.groups = frozenset(row.group for row in self.rows)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        found = self._by_name.get((group, version, plural))
        return found.row if found is not None else None

    def maker(self, resource: Resource) -> Callable[[Call], Awaitable[DocumentAnswer]] | None:
        """The maker of a row of this table; None for other rows, also for a custom resource of that name."""
        if resource.group not in self.groups:
            return None
        found = self._by_name.get((resource.group, resource.version, resource.plural))
        return found.make if found is not None and found.row is resource else None
