"""Reads a server's resources from the discovery documents that every Kubernetes serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.resources import Resource, Subresource
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.client.errors import PartlyDiscovered

Fetch = Callable[[str], Awaitable[Obj]]
"""Gets a document by its path; an empty one if the server does not have it."""

AGGREGATED: Final = ", ".join(
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json",
    )
)
"""The types to ask for, so that one document lists the resources of all groups."""
_NO_HOOKS = Strategy()


async def find(fetch: Fetch, api_version: str, name: str) -> Resource:
    """The resource of this kind or plural. LookupError when the server has none."""
    rows = rows_of(api_version, await fetch(_path(api_version)))
    for row in rows:
        if name in (row.kind, row.plural):
            return row
    there = ", ".join(row.kind for row in rows)
    hint = f"it serves there: {there}" if there else "it serves nothing there"
    raise LookupError(f"the server has no {name!r} in {api_version}; {hint}")


async def everything(fetch: Fetch, fetch_groups: Fetch) -> list[Resource]:
    """Every resource once, in the server's order, in its group's preferred version or else in the next one
    that has it. `fetch_groups` gets documents of type `AGGREGATED`: two of them list everything. Servers
    before Kubernetes 1.26 are asked for each version of each group. Raises `PartlyDiscovered`."""
    groups: list[Obj] = []
    rows: list[Resource] = []
    refused: dict[str, str] = {}
    for path in ("/api", "/apis"):
        document = await fetch_groups(path)
        if document.get("kind") == "APIGroupDiscoveryList":
            for group in document.get("items") or ():
                rows += aggregated(group, refused)
        else:
            groups += ({"versions": [{"groupVersion": each}]} for each in document.get("versions") or ())
            groups += document.get("groups") or ()
    for group in groups:
        found: dict[str, Resource] = {}
        for version in _preferred_first(group):
            try:
                told = rows_of(version, await fetch(_path(version)))
            except StatusError as err:
                refused[version] = str(err)
            else:
                found = {row.plural: row for row in told} | found
        rows += found.values()
    if refused:
        raise PartlyDiscovered(rows, [*refused], next(iter(refused.values())))
    return rows


def _preferred_first(group: Obj) -> list[str]:
    versions = [each["groupVersion"] for each in group["versions"]]
    preferred = (group.get("preferredVersion") or {}).get("groupVersion")
    return sorted(versions, key=lambda version: version != preferred)


def aggregated(group: Obj, refused: dict[str, str]) -> Iterable[Resource]:
    """The resources of one group of an APIGroupDiscoveryList, in which the preferred version comes first.
    Notes versions whose server is away; the document may list old resources of them."""
    name = (group.get("metadata") or {}).get("name") or ""
    found: dict[str, Resource] = {}
    for each in group.get("versions") or ():
        version = each["version"]
        if each.get("freshness") == "Stale":
            path = f"{name}/{version}" if name else version
            refused[path] = f"stale GroupVersion discovery: {path}"
        for item in each.get("resources") or ():
            kind = (item.get("responseKind") or {}).get("kind")
            if kind is None or item["resource"] in found:
                continue
            found[item["resource"]] = Resource(
                group=name,
                version=version,
                kind=kind,
                plural=item["resource"],
                singular=item.get("singularResource") or kind.lower(),
                namespaced=item.get("scope") == "Namespaced",
                behaviour=_NO_HOOKS,
                short_names=tuple(item.get("shortNames") or ()),
                categories=tuple(item.get("categories") or ()),
                verbs=tuple(item["verbs"]),
                subresources={
                    sub["subresource"]: Subresource(
                        sub["subresource"], tuple(sub["verbs"]), told["kind"], _group_version(told)
                    )
                    for sub in item.get("subresources") or ()
                    if (told := sub.get("responseKind"))
                },
            )
    return found.values()


def _path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def rows_of(api_version: str, document: Obj) -> list[Resource]:
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
            behaviour=_NO_HOOKS,
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
