"""A request before an engine sends it, and the rules for its parts.

Decides which row, name and namespace are meant, how options are written, and which objects must carry
`apiVersion` and `kind`. Talks to no server; `client.py` decides which requests a verb makes and reads the
answers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from longshore.api import types
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client.projection import WHOLE, Projection
from longshore.client.protocol import DeleteOptions, What


class Ask(msgspec.Struct):
    """One request, before an engine sends it."""

    verb: str
    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: dict[str, str] = msgspec.field(default_factory=dict)
    value: Any = None
    """The body: an object, a patch, options."""
    content_type: str = "application/json"
    reads: Projection = WHOLE
    """The fields that the caller needs of each object of a list or a watch; there may be more."""

    def body(self) -> bytes:
        """The value as JSON; empty without one."""
        return b"" if self.value is None else types.encode(self.value)


class Page(msgspec.Struct, frozen=True):
    """Part of a list. `more` is the token of the next page, empty on the last."""

    items: list[Obj]
    resource_version: str
    more: str = ""
    anew: bool = False
    """Whether this page has all objects and replaces the pages before it."""


@lru_cache(maxsize=256)
def built_in(api_version: str, name: str) -> Resource | None:
    """The row of this kind or plural in the table of built-in resources, Volcano's included."""
    from longshore.api.kinds import table  # 70 ms, which commands that speak plain HTTP do without

    group, _, version = api_version.rpartition("/")
    return table.by_kind(api_version, name) or table.find(group, version, name)


def known(what: What) -> Resource | None:
    """The row of a resource; None if only the server knows it."""
    return what if isinstance(what, Resource) else built_in(*what)


def untyped(resource: Resource, obj: Obj) -> Obj:
    """`obj`, which the caller owns, without `apiVersion` and `kind` if it is one of `resource`."""
    if obj.get("kind") == resource.kind:
        obj.pop("kind")
        obj.pop("apiVersion", None)
    return obj


def typed(resource: Resource, obj: Obj, subresource: str) -> Obj:
    """The object that a write sends. Kubernetes knows built-in kinds by the path; a custom object must
    name its kind."""
    if resource.message or subresource not in ("", "status"):
        return obj
    return {"apiVersion": resource.group_version, "kind": resource.kind, **obj}


def given(**options: str) -> dict[str, str]:
    """The query parameters that are not empty."""
    return {key: value for key, value in options.items() if value}


def named(
    verb: str,
    resource: Resource,
    name: str,
    namespace: str,
    subresource: str = "",
    query: dict[str, str] | None = None,
) -> Ask:
    """An ask for one object. Refuses an empty name, which would mean the whole collection."""
    if not name:
        raise ValueError(f"{verb} of {resource.qualified} needs a name")
    if resource.namespaced and not namespace:
        raise ValueError(f"{verb} of {resource.qualified} {name!r} needs a namespace")
    return Ask(verb, resource, namespace if resource.namespaced else "", name, subresource, query or {})


def name_in(obj: Obj) -> str:
    """The object's name; empty if it has none."""
    name: str = (obj.get("metadata") or {}).get("name") or ""
    return name


def place_of(resource: Resource, obj: Obj, namespace: str) -> str:
    """The namespace of a write: the given one, else the object's own."""
    if not resource.namespaced:
        return ""
    namespace = namespace or (obj.get("metadata") or {}).get("namespace") or ""
    if not namespace:
        raise ValueError(f"{resource.qualified} {name_in(obj)!r} needs a namespace")
    return namespace


def delete_body(options: DeleteOptions | None) -> Obj | None:
    """`options` as the API's DeleteOptions."""
    if options is None:
        return None
    body: Obj = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if options.propagation is not None:
        body["propagationPolicy"] = options.propagation
    if options.grace_period_seconds is not None:
        body["gracePeriodSeconds"] = options.grace_period_seconds
    if options.dry_run:
        body["dryRun"] = ["All"]
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    preconditions = {key: value for key, value in preconditions.items() if value is not None}
    if preconditions:
        body["preconditions"] = preconditions
    return body
