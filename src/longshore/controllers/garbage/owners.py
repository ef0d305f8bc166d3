"""Finds the state of the owners in an object's references, from the graph or, if needed, from the server.

An owner that the graph knows and the reference names correctly needs no request: when it changes, its
dependents are synced again. Any other owner is read by the coordinates in the reference. Absent owners are
remembered, since a uid is never used again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.garbage import references
from longshore.controllers.garbage.decide import Owner
from longshore.controllers.garbage.graph import Graph, matches
from longshore.controllers.garbage.references import Identity, Reference

_MAX_REMEMBERED: Final = 500


class Absent:
    """The last 500 owners found absent; the least recently used is forgotten first."""

    def __init__(self) -> None:
        self._known: OrderedDict[Identity, None] = OrderedDict()

    def add(self, identity: Identity) -> None:
        self._known[identity] = None
        self._known.move_to_end(identity)
        if len(self._known) > _MAX_REMEMBERED:
            self._known.popitem(last=False)

    def __contains__(self, identity: Identity) -> bool:
        if identity not in self._known:
            return False
        self._known.move_to_end(identity)
        return True

    def __len__(self) -> int:
        return len(self._known)


class Owners:
    """Reads the state of owners. Raises StatusError or Unreachable if the server's answer leaves it open."""

    def __init__(self, client: Client, graph: Graph, absent: Absent) -> None:
        self._client, self._graph, self._absent = client, graph, absent

    async def state(self, ref: Reference, namespace: str) -> Owner:
        """Returns the state of the owner that an object in `namespace` names by `ref`."""
        owner = self._graph.nodes.get(ref.uid)
        if owner is not None and matches(owner, ref, namespace):
            return Owner.WAITING if owner.in_foreground else Owner.SOLID
        named = Identity(ref.api_version, ref.kind, namespace, ref.name, ref.uid)
        if named in self._absent or named._replace(namespace="") in self._absent:
            return Owner.DANGLING
        try:
            row = await self._client.resource((ref.api_version, ref.kind))
        except LookupError:
            return Owner.UNKNOWN
        if row.kind != ref.kind:
            return Owner.UNKNOWN  # it was found by the plural, which is not a kind
        if row.namespaced and not namespace:
            return Owner.UNRESOLVABLE
        return await self._ask(row, named if row.namespaced else named._replace(namespace=""))

    async def _ask(self, row: Resource, identity: Identity) -> Owner:
        try:
            found = await metadata(self._client, row, identity.name, identity.namespace)
        except LookupError:
            return Owner.UNKNOWN
        if found is None or found["uid"] != identity.uid:
            self._absent.add(identity)
            return Owner.DANGLING
        return Owner.WAITING if references.in_foreground(found) else Owner.SOLID


async def metadata(client: Client, row: Resource, name: str, namespace: str) -> Obj | None:
    """Returns the object's metadata on the server; None if it does not exist.

    Raises LookupError if the server does not serve the kind, which says nothing about the object."""
    try:
        found = await client.get(row, name, namespace)
    except StatusError as err:
        if err.code != 404:
            raise
        if not is_gone(err, name):
            raise LookupError(f"the server does not serve {row.qualified} now") from err
        return None
    meta: Obj = references.READS.of(found)["metadata"]
    return meta


def is_gone(err: StatusError, name: str) -> bool:
    """Whether `err` says that the object of this name does not exist, not only that the path does not."""
    return err.code == 404 and (err.details or {}).get("name") == name
