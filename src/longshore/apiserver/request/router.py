"""Finds the resource and verb that a URL path names. Pure; of HTTP it knows only path and method."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import msgspec

from longshore.api import errors
from longshore.api.resources import Resource

Find = Callable[[str, str, str], Resource | None]

_VERB_OF_ITEM: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERB_OF_COLLECTION: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_MAX_REMEMBERED_CHARACTERS: Final = 128
CONNECTS: Final = ("exec", "attach", "portforward", "proxy")


class Route(msgspec.Struct, frozen=True):
    """A resource path taken apart. `watch` marks the old-style `/watch/` prefix."""

    group: str
    version: str
    plural: str
    namespace: str
    name: str
    subresource: str
    watch: bool


def split(path: str) -> Route | None:
    """The parts of a resource path; None for anything else (discovery, health, ...)."""
    return _known(path) if len(path) <= _MAX_REMEMBERED_CHARACTERS else _split(path)


def _split(path: str) -> Route | None:
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watch = rest[0] == "watch" and len(rest) > 1
    if watch:
        rest = rest[1:]
    namespace = ""
    if (
        rest[0] == "namespaces"
        and len(rest) > 2
        and not (len(rest) == 3 and rest[2] in ("status", "finalize"))
    ):
        namespace, rest = rest[1], rest[2:]
    plural, name = rest[0], rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if len(rest) > 3 and subresource != "proxy":
        subresource = "/".join(rest[2:])
    return Route(group, version, plural, namespace, name, subresource, watch)


_known: Final = lru_cache(maxsize=1024)(_split)
"""Caches short paths: most requests are about a few collections."""


def resource_of(route: Route, find: Find) -> Resource:
    """The row a route names, at the right scope; 404 in upstream's words when there is none."""
    resource = find(route.group, route.version, route.plural)
    if resource is None:
        raise missing()
    if resource.namespaced and route.name and not route.namespace:
        raise missing()
    if not resource.namespaced and route.namespace:
        raise missing()
    if route.subresource and route.subresource not in resource.subresources:
        raise missing()
    return resource


def verb_of(route: Route, resource: Resource, method: str) -> str:
    """The API verb of a method on this path; 405 when the resource does not offer it."""
    if route.subresource:
        return _subresource_verb(route, resource, method)
    verb = (_VERB_OF_ITEM if route.name else _VERB_OF_COLLECTION).get(method, "")
    if route.watch and verb in ("list", "get"):
        verb = "watch"
    across = resource.namespaced and not route.namespace and not route.name
    if verb not in resource.verbs or (across and verb not in ("list", "watch")):
        raise errors.method_not_allowed()
    return verb


def asked_verb(route: Route, method: str) -> str:
    """The verb that a client must be allowed, else it gets a 403 instead of the 404 or 405 of a path. Empty
    for a method that no resource has: only a rule for `*` allows that."""
    either = {**_VERB_OF_ITEM, **_VERB_OF_COLLECTION}
    return (_VERB_OF_ITEM if route.name else _VERB_OF_COLLECTION).get(method, either.get(method, ""))


def _subresource_verb(route: Route, resource: Resource, method: str) -> str:
    row = resource.subresources[route.subresource]
    if route.subresource in CONNECTS:
        verb = {"GET": "get", "POST": "create"}.get(method, "")
    else:
        verb = {**_VERB_OF_ITEM, "POST": "create"}.get(method, "")
    if verb not in row.verbs:
        raise errors.method_not_allowed()
    return verb


def missing() -> errors.StatusError:
    """The 404 for a path below a known group that names nothing."""
    return errors.StatusError(404, "NotFound", "the server could not find the requested resource", details={})
