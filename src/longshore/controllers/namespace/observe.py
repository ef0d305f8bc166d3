"""Reads the remaining objects of a terminating namespace. Changes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.client.errors import PartlyDiscovered

_NOT_SERVED = (404, 405)
"""Status codes for a resource that is no longer served. As upstream, its objects count as gone."""


class Content(msgspec.Struct, frozen=True):
    """The remaining objects of one resource; never empty."""

    group: str
    version: str
    plural: str
    objects: tuple[Obj, ...]
    at_once: bool = True
    """Whether the resource can be deleted as a collection."""

    @property
    def what(self) -> tuple[str, str]:
        """The resource in the form that clients accept."""
        return (f"{self.group}/{self.version}" if self.group else self.version), self.plural

    @property
    def qualified(self) -> str:
        """The resource as error texts and `kubectl` write it: `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class NamespaceView(msgspec.Struct, frozen=True):
    """The input of `decide`."""

    namespace: Obj
    now: str
    contents: tuple[Content, ...] = ()
    undiscovered: str = ""
    """Why discovery failed for some resources; empty if it did not."""
    failures: tuple[str, ...] = ()
    """Errors of lists in this sync, and of deletes in the sync before."""


class Served:
    """The served resources, discovered after the deletion of a namespace began.

    Nothing can be created in a terminating namespace, so resources that are served later have no objects in
    it. One discovery takes some 27 requests, and is valid for all namespaces whose deletion was known at its
    begin."""

    def __init__(self) -> None:
        self._moments = itertools.count()
        self._known: dict[str, int] = {}
        """The moment at which the deletion of each terminating namespace became known, by its uid."""
        self._begun = -1
        """The moment at which the last discovery began."""
        self._found: Sequence[Resource] = ()

    def heard(self, namespace: Obj) -> None:
        """Notes that the namespace is being deleted."""
        self._known.setdefault(namespace["metadata"]["uid"], next(self._moments))

    def forget(self, namespace: Obj) -> None:
        self._known.pop(namespace["metadata"]["uid"], None)

    async def resources(self, client: Client, namespace: Obj) -> Sequence[Resource]:
        """The resources that may have objects in the namespace. Raises what `Client.resources` raises."""
        self.heard(namespace)
        if self._begun > self._known[namespace["metadata"]["uid"]]:
            return self._found
        begun = next(self._moments)
        found = await client.resources()
        if begun > self._begun:
            self._begun, self._found = begun, found
        return found


def wanted(namespace: Obj) -> bool:
    """Whether the namespace is being deleted and still has the `kubernetes` finalizer."""
    finalizers = (namespace.get("spec") or {}).get("finalizers") or ()
    return "deletionTimestamp" in namespace["metadata"] and "kubernetes" in finalizers


async def observe(
    client: Client,
    name: str,
    now: str,
    failures: tuple[str, ...],
    served_by: Served,
) -> NamespaceView | None:
    """Reads the namespace with everything in it; None if it needs no work."""
    try:
        namespace = await client.get(kinds.NAMESPACES, name)
    except StatusError as err:
        if err.code == 404:
            return None
        raise
    if not wanted(namespace):
        return None
    undiscovered = ""
    try:
        served = await served_by.resources(client, namespace)
    except PartlyDiscovered as err:
        served, undiscovered = err.found, str(err)
    except (StatusError, Unreachable) as err:
        return NamespaceView(namespace, now, undiscovered=str(err))
    contents, unlisted = [], list(failures)
    seen: set[tuple[str, str]] = set()
    for resource in served:
        if not resource.namespaced or not {"list", "delete"} <= set(resource.verbs):
            continue
        if (resource.group, resource.plural) in seen:
            continue  # another version of a resource that was read already
        seen.add((resource.group, resource.plural))
        try:
            found = await client.list(resource, name)
        except StatusError as err:
            if err.code not in _NOT_SERVED:
                unlisted.append(str(err))
            continue
        if found.items:
            at_once = "deletecollection" in resource.verbs
            objects = tuple(found.items)
            contents.append(Content(resource.group, resource.version, resource.plural, objects, at_once))
    return NamespaceView(namespace, now, tuple(contents), undiscovered, tuple(unlisted))
