"""Which resources are served right now: the built-in table and users' custom resource definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.types import Obj

if TYPE_CHECKING:
    from longshore.store import Store


class Catalog:
    """Finds the row of a path. Rows of custom resources come and go with their definitions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions: dict[str, tuple[str, ...]] = {}

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return table.find(group, version, plural)

    def resources(self) -> Sequence[Resource]:
        """All rows in discovery order."""
        return table.RESOURCES

    def versions(self, resource: Resource) -> tuple[str, ...]:
        """Every apiVersion the objects of this storage are served in, for their managedFields."""
        found = self._versions.get(resource.storage)
        if found is None:
            same = (r.group_version for r in self.resources() if r.storage == resource.storage)
            found = self._versions[resource.storage] = tuple(dict.fromkeys(same))
        return found

    def has_group(self, group: str) -> bool:
        return any(r.group == group for r in self.resources())

    def crd_schemas(self) -> Mapping[tuple[str, str, str], Obj]:
        """The OpenAPI schema of every custom resource, by group, version and kind."""
        return {}
