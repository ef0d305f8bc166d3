"""The call that a request asks for, by its path, method and query."""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from urllib.parse import parse_qs, unquote

from longshore.api import errors
from longshore.apiserver.http.request import Request
from longshore.apiserver.request import router
from longshore.apiserver.request.call import Call, Query, User

_REMEMBERED_QUERY: Final = 128
"""Characters of the longest query whose parsed form is cached."""


def call_of(request: Request, user: User, route: router.Route, raw_query: str, find: router.Find) -> Call:
    """The call a request asks for; raises a 404 or 405 if the path does not support it."""
    resource = router.resource_of(route, find)
    call = Call(
        resource,
        router.verb_of(route, resource, request.method),
        unquote(route.namespace),
        unquote(route.name),
        route.subresource,
        _known_query(raw_query) if len(raw_query) <= _REMEMBERED_QUERY else _query(raw_query),
        user,
        request.headers.get("user-agent", ""),
    )
    if resource.warning:
        call.warn([resource.warning])
    return call


def _query(raw: str) -> Query:
    return {key: tuple(values) for key, values in parse_qs(raw, keep_blank_values=True).items()}


_known_query: Final = lru_cache(maxsize=256)(_query)
"""Caches short queries: most writes of a client name the same options."""


def make_watch(call: Call, *, by_name: bool) -> None:
    """Turns a list with `watch=1`, or the old form `/watch/`, where a name is a selector, into a watch."""
    if "watch" not in call.resource.verbs:
        raise errors.method_not_allowed()
    call.verb = "watch"
    if by_name and call.name:
        call.query = {**call.query, "fieldSelector": [f"metadata.name={call.name}"]}
        call.name = ""
