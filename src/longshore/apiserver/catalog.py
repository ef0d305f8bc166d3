"""Which resources are served right now: the built-in table and users' custom resource definitions.

Rows of definitions are a function of the definitions in the store. A write to one announces its revision
(`expect`); once the store shows that revision, the next lookup rebuilds the rows. All other lookups read the
dictionaries built then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api import errors
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.store import Entry, Store

DEFINITIONS: Final = "apiextensions.k8s.io/customresourcedefinitions"
_Path = tuple[str, str, str]


class _Defined(msgspec.Struct, frozen=True):
    """The rows of one definition, at one of its revisions."""

    revision: int
    rows: Sequence[Resource]
    schemas: Mapping[_Path, Obj]


class Catalog:
    """Finds the row of a path. Rows of custom resources come and go with their definitions. Without `volcano`
    discovery and `ApiFront` leave out Volcano's groups; parts of this process still find their rows."""

    def __init__(self, store: Store, *, volcano: bool = True) -> None:
        self._store = store
        self._built_in = (
            table.RESOURCES if volcano else tuple(r for r in table.RESOURCES if r.style != "custom")
        )
        self._awaited = 0
        """The revision of the last write to a definition that the rows do not show yet; 0 for none."""
        self._known: dict[str, _Defined] = {}
        """The rows of each definition, by its name."""
        self._load()

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        if self._awaited:
            self._refresh()
        return self._by_path.get((group, version, plural))

    def resources(self) -> Sequence[Resource]:
        """All rows in discovery order. Returns the same tuple until a row changes."""
        if self._awaited:
            self._refresh()
        return self._rows

    def versions(self, resource: Resource) -> tuple[str, ...]:
        """Every apiVersion the objects of this storage are served in, for their managedFields."""
        return self._versions.get(resource.storage, (resource.group_version,))

    def has_group(self, group: str) -> bool:
        if self._awaited:
            self._refresh()
        return group in self._groups

    def crd_schemas(self) -> Mapping[_Path, Obj]:
        """The OpenAPI schema of every custom resource, by group, version and kind."""
        if self._awaited:
            self._refresh()
        return {**self._volcano_schemas, **self._schemas}

    def expect(self, revision: int) -> None:
        """Announces that a write with this revision changes a definition."""
        self._awaited = max(self._awaited, revision)

    def check_open(self, resource: Resource) -> None:
        """Refuses new objects of a kind whose definition is being deleted or is gone."""
        if resource.style != "custom" or is_built_in(resource):
            return
        entry = self._store.latest(definition_key(resource))
        if entry is None:
            raise errors.StatusError(
                404, "NotFound", "the server could not find the requested resource", details={}
            )
        if "deletionTimestamp" in entry.obj["metadata"]:
            text = "create not allowed while custom resource definition is terminating"
            details = {"group": resource.group, "kind": resource.plural}
            raise errors.StatusError(405, "MethodNotAllowed", text, details=details)

    def _refresh(self) -> None:
        if self._store.revision >= self._awaited:
            self._awaited = 0
            self._load()

    def _load(self) -> None:
        self._known = {e.key.name: self._made_from(e) for e in self._store.list(DEFINITIONS)}
        # Groups of definitions stand behind the built-in ones, by name.
        custom = sorted((row for known in self._known.values() for row in known.rows), key=_order)
        built_in = {(r.group, r.version, r.plural): r for r in table.RESOURCES}
        self._by_path = {(r.group, r.version, r.plural): r for r in custom} | built_in
        self._rows: tuple[Resource, ...] = (*self._built_in, *custom)
        self._groups = frozenset(r.group for r in self._rows)
        self._versions: dict[str, tuple[str, ...]] = {}
        for row in self._rows:
            self._versions[row.storage] = (*self._versions.get(row.storage, ()), row.group_version)
        self._schemas = {key: own for known in self._known.values() for key, own in known.schemas.items()}

    def _made_from(self, entry: Entry) -> _Defined:
        known = self._known.get(entry.key.name)
        if known is not None and known.revision == entry.revision:
            return known
        from longshore.apiserver.crd import rows

        own = rows.rows(entry.obj)
        return _Defined(entry.revision, own, rows.schemas(entry.obj) if own else {})

    @cached_property
    def _volcano_schemas(self) -> dict[_Path, Obj]:
        """Volcano's schemas as they are published: pod templates by reference, with their documentation."""
        from longshore.api.kinds import volcano
        from longshore.apiserver.openapi import names

        return {
            (r.group, r.version, r.kind): volcano.schema_of(
                r.group_version, r.kind, lambda message: {"$ref": names.of_message(message)}
            )
            for r in self._built_in
            if r.style == "custom"
        }


def is_built_in(resource: Resource) -> bool:
    return table.find(resource.group, resource.version, resource.plural) is resource


def definition_key(resource: Resource) -> Key:
    """The store key of a custom resource's definition."""
    return Key(DEFINITIONS, "", resource.qualified)


def _order(row: Resource) -> tuple[str, str]:
    return row.group, row.plural
