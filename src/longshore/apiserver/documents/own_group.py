"""longshore.dev: documents of longshore's own, as resources. Each is made when somebody asks for it.

Nothing of it is stored as an object. A resource is a row, for discovery and for RBAC, and a function that
makes its documents; whoever can make them adds both with `serve`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from longshore.api import errors
from longshore.api.resources import Resource
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.apiserver.answer import DocumentAnswer
from longshore.apiserver.request.call import Call

GROUP: Final = "longshore.dev"
VERSION: Final = "v1"

Maker = Callable[[Call], Awaitable[Obj | None]]
"""Makes the document that is asked for, without apiVersion and kind; None where there is none."""


def row(kind: str, plural: str, *, namespaced: bool, verbs: tuple[str, ...] = ("get",)) -> Resource:
    """A resource of this group. Its documents are JSON or YAML."""
    return Resource(
        GROUP, VERSION, kind, plural, kind.lower(), namespaced, Strategy(), verbs=verbs, style="custom"
    )


class OwnGroup:
    """The resources of the group, by plural."""

    def __init__(self) -> None:
        self.rows: tuple[Resource, ...] = ()
        """For discovery; another tuple only when there is another resource."""
        self._makers: dict[str, tuple[Resource, Maker]] = {}

    def serve(self, resource: Resource, maker: Maker) -> None:
        self._makers[resource.plural] = resource, maker
        self.rows = tuple(resource for resource, _ in self._makers.values())

    def find(self, version: str, plural: str) -> Resource | None:
        found = self._makers.get(plural)
        return found[0] if found is not None and found[0].version == version else None

    def serves(self, resource: Resource) -> bool:
        """Whether this row is one of the group's, and not of a custom resource in a group of this name."""
        return resource in self.rows

    async def answer(self, call: Call) -> DocumentAnswer:
        resource, maker = self._makers[call.resource.plural]
        document = await maker(call)
        if document is None:
            raise errors.not_found(resource.group, resource.plural, call.name)
        kind = resource.list_kind if call.verb == "list" else resource.kind
        made = {"kind": kind, "apiVersion": resource.group_version, **document}
        return DocumentAnswer(made, 201 if call.verb == "create" else 200)
