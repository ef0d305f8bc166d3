"""The kinds a server serves, by the names people use: `jobs`, `job`, `cj`, `Job`, `jobs.batch`, `all`.

The list comes from the server in two requests, so custom kinds and any Kubernetes work too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.cli.server.requests import Server, escaped, refusal
from longshore.client.http import discovery

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


class Kind(NamedTuple):
    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def one(self) -> str:
        """`job.batch`, the form before the slash of a name."""
        return f"{self.singular}.{self.group}" if self.group else self.singular

    @property
    def many(self) -> str:
        """`jobs.batch`, the plural form."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str, name: str = "", below: str = "") -> str:
        """The URL path of all objects of the kind (in every namespace if none is given), or of one."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", escaped(namespace)]
        parts.append(self.plural)
        if name:
            parts.append(escaped(name))
        if below:
            parts.append(below)
        return "/".join(parts)


class Kinds:
    """All kinds, in the server's order: if two share a name, the first one counts."""

    def __init__(self, rows: Iterable[Kind]) -> None:
        self.rows = list(rows)

    def named(self, word: str) -> Kind | None:
        """The kind with this name, which may end in `.group` or `.version.group`."""
        first, dot, rest = word.partition(".")
        asked = first.lower()
        for row in self.rows:
            known = (row.plural, row.singular, row.kind.lower(), *row.short_names)
            if asked in known and (not dot or rest in (row.group, f"{row.version}.{row.group}", row.version)):
                return row
        # Groups may be shortened to their beginning, as in jobs.batch.volcano.
        for row in self.rows:
            if dot and asked in (row.plural, row.singular) and row.group.startswith(rest):
                return row
        return None

    def in_category(self, word: str) -> list[Kind]:
        """The kinds that a category such as `all` stands for."""
        return [row for row in self.rows if word in row.categories and "list" in row.verbs]

    def of(self, obj: Obj) -> Kind | None:
        """The kind that an object names."""
        for row in self.rows:
            if row.kind == obj.get("kind") and row.api_version == obj.get("apiVersion"):
                return row
        return None


def discover(server: Server) -> Kinds:
    """Asks the server for all kinds."""
    rows: list[Kind] = []
    for path in ("/api", "/apis"):
        answer = server.request("GET", path, accept=_AGGREGATED)
        if answer.code >= 400:
            raise refusal(answer)
        document = server.document(answer.body)
        if document.get("kind") == "APIGroupDiscoveryList":
            for group in document["items"]:
                rows += map(_kind, discovery.aggregated(group, {}))
        else:
            rows += _older(server, document)
    return Kinds(rows)


def _older(server: Server, document: Obj) -> Iterable[Kind]:
    """The resources of a server without aggregated discovery, in one more request per group."""
    versions = list(document.get("versions") or ()) if document["kind"] == "APIVersions" else []
    versions += [group["preferredVersion"]["groupVersion"] for group in document.get("groups") or ()]
    for version in versions:
        found = server.json("GET", f"/apis/{version}" if "/" in version else f"/api/{version}")
        yield from map(_kind, discovery.rows_of(version, found))


def _kind(row: Resource) -> Kind:
    names = (row.singular, row.namespaced, row.short_names, row.categories, row.verbs)
    return Kind(row.group, row.version, row.kind, row.plural, *names)
