"""Reads what is left in a terminating namespace. Changes nothing."""

from __future__ import annotations

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.client.errors import PartlyDiscovered


class Content(msgspec.Struct, frozen=True):
    """The objects of one resource that are still there; never empty."""

    group: str
    version: str
    plural: str
    objects: tuple[Obj, ...]
    at_once: bool = True
    """Whether the resource can be deleted as a collection."""

    @property
    def what(self) -> tuple[str, str]:
        """The resource, as clients take it."""
        return (f"{self.group}/{self.version}" if self.group else self.version), self.plural

    @property
    def qualified(self) -> str:
        """`jobs.batch`, as error texts and `kubectl` write it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class View(msgspec.Struct, frozen=True):
    """All that `decide` may know."""

    namespace: Obj
    now: str
    contents: tuple[Content, ...] = ()
    undiscovered: str = ""
    """Why not all resources could be found out; empty when they could."""
    failures: tuple[str, ...] = ()
    """The failures to list now or to delete in the pass before."""


def wanted(namespace: Obj) -> bool:
    """Whether there is anything to do for this namespace at all."""
    finalizers = (namespace.get("spec") or {}).get("finalizers") or ()
    return "deletionTimestamp" in namespace["metadata"] and "kubernetes" in finalizers


async def observe(client: Client, name: str, now: str, failures: tuple[str, ...]) -> View | None:
    """The namespace with everything in it; None when it needs no work."""
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
        served = await client.resources()
    except PartlyDiscovered as err:
        served, undiscovered = [*err.found], str(err)
    except (StatusError, Unreachable) as err:
        return View(namespace, now, undiscovered=str(err))
    contents, unlisted = [], list(failures)
    seen: set[tuple[str, str]] = set()
    for resource in served:
        if not resource.namespaced or not {"list", "delete"} <= set(resource.verbs):
            continue
        if (resource.group, resource.plural) in seen:
            continue  # another version of what was read already
        seen.add((resource.group, resource.plural))
        try:
            found = await client.list(resource, name)
        except StatusError as err:
            unlisted.append(str(err))
            continue
        if found.items:
            at_once = "deletecollection" in resource.verbs
            objects = tuple(found.items)
            contents.append(Content(resource.group, resource.version, resource.plural, objects, at_once))
    return View(namespace, now, tuple(contents), undiscovered, tuple(unlisted))
