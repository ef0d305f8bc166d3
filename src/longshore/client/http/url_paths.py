"""URL paths of resources, and the HTTP method of each verb."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from longshore.client.ask import Ask

METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


def path_of(ask: Ask) -> str:
    """`/apis/batch/v1/namespaces/default/jobs/x/status`, each part escaped."""
    resource = ask.resource
    parts = ["/apis", resource.group] if resource.group else ["/api"]
    parts.append(resource.version)
    if resource.namespaced and ask.namespace:
        parts += ["namespaces", _escaped(ask.namespace)]
    parts.append(resource.plural)
    if ask.name:
        parts.append(_escaped(ask.name))
        if ask.subresource:
            parts.append(ask.subresource)
    return "/".join(parts)


def _escaped(part: str) -> str:
    """One segment, escaped. A name from the command line that is not UTF-8 keeps its bytes."""
    return quote(part, safe="", errors="surrogateescape")
