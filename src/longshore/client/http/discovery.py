"""Reads a server's resources from the discovery documents that every Kubernetes serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from longshore.api.errors import StatusError
from longshore.api.resources import Resource, Subresource
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.client.errors import PartlyDiscovered

Fetch = Callable[[str], Awaitable[Obj]]
"""Gets a document by its path; an empty one if the server does not have it."""

_NO_HOOKS = Strategy()


async def find(fetch: Fetch, api_version: str, name: str) -> Resource:
    """The resource of this kind or plural. LookupError when the server has none."""
    rows = _rows(api_version, await fetch(_path(api_version)))
    for row in rows:
        if name in (row.kind, row.plural):
            return row
    there = ", ".join(row.kind for row in rows)
    hint = f"it serves there: {there}" if there else "it serves nothing there"
    raise LookupError(f"the server has no {name!r} in {api_version}; {hint}")


async def everything(fetch: Fetch) -> list[Resource]:
    """Every resource in its group's preferred version, in the server's order. Raises `PartlyDiscovered`."""
    versions = list((await fetch("/api")).get("versions") or ())
    for group in (await fetch("/apis")).get("groups") or ():
        versions.append(group["preferredVersion"]["groupVersion"])
    rows: list[Resource] = []
    refused: dict[str, StatusError] = {}
    for version in versions:
        try:
            rows += _rows(version, await fetch(_path(version)))
        except StatusError as err:
            refused[version] = err
    if refused:
        raise PartlyDiscovered(rows, [*refused], str(next(iter(refused.values()))))
    return rows


def _path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _rows(api_version: str, document: Obj) -> list[Resource]:
    group, _, version = api_version.rpartition("/")
    listed = document.get("resources") or ()
    subresources: dict[str, dict[str, Subresource]] = {}
    for item in listed:
        plural, slash, below = item["name"].partition("/")
        if slash:
            sub = Subresource(below, tuple(item["verbs"]), item["kind"], _group_version(item))
            subresources.setdefault(plural, {})[below] = sub
    return [
        Resource(
            group=group,
            version=version,
            kind=item["kind"],
            plural=item["name"],
            singular=item.get("singularName") or item["kind"].lower(),
            namespaced=item["namespaced"],
            strategy=_NO_HOOKS,
            short_names=tuple(item.get("shortNames") or ()),
            categories=tuple(item.get("categories") or ()),
            verbs=tuple(item["verbs"]),
            subresources=subresources.get(item["name"], {}),
        )
        for item in listed
        if "/" not in item["name"]
    ]


def _group_version(item: Obj) -> str:
    """The group version of a subresource's kind, where it differs from its parent's."""
    if not item.get("version"):
        return ""
    return f"{item['group']}/{item['version']}" if item.get("group") else str(item["version"])
