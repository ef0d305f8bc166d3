"""Reads what is left in a terminating namespace. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import Client, Unreachable


@dataclass(frozen=True, slots=True)
class Content:
    """The objects of one resource that are still there; never empty."""

    resource: Resource
    objects: tuple[Obj, ...]


@dataclass(frozen=True, slots=True)
class View:
    """All that `decide` may know."""

    namespace: Obj
    now: str
    contents: tuple[Content, ...] = ()
    undiscovered: str = ""
    """Why the resources could not be found out; empty when they could."""
    failures: tuple[str, ...] = ()
    """What could not be listed now or deleted in the pass before."""


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
    try:
        served = await client.resources()
    except (StatusError, Unreachable) as err:
        return View(namespace, now, undiscovered=str(err))
    contents, unlisted = [], list(failures)
    for resource in served:
        if not resource.namespaced or not {"list", "delete"} <= set(resource.verbs):
            continue
        try:
            found = await client.list(resource, name)
        except StatusError as err:
            unlisted.append(str(err))
            continue
        if found.items:
            contents.append(Content(resource, tuple(found.items)))
    return View(namespace, now, tuple(contents), failures=tuple(unlisted))
