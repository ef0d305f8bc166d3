"""Discovery: which groups, versions and resources there are, in both forms clients ask for.

The older form is one document for every group and version; the aggregated one lists everything at `/api` and
`/apis`. Both come from the rows of the resource table, in its order: groups as they stand, resources by name.
Documents are built on first use and built again when the rows change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from longshore.api.kinds.table import storage_version_hash
from longshore.api.resources import Resource, Subresource
from longshore.api.types import Obj, encode
from longshore.apiserver.documents.document import Document
from longshore.apiserver.request import negotiate
from longshore.apiserver.request.negotiate import Output

# Kubernetes sorts the verbs of its own kinds and lists those of custom resources in this order.
_CUSTOM_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGE: Final = {"alpha": 0, "beta": 1, None: 2}
_HEADERS: Final = {"Vary": "Accept", "Cache-Control": "public"}


class Discovery:
    """All discovery documents. `resources` gives the rows served right now."""

    def __init__(self, resources: Callable[[], Sequence[Resource]]) -> None:
        self._resources = resources
        self._rows: Sequence[Resource] = ()
        self._kept: dict[tuple[str, str], Document] = {}

    def find(self, path: str, accept: str | None, address: str) -> tuple[Document, Output] | None:
        """The document at a path, and the form it is wanted in; None where there is none.

        `address` is `host:port` as the client reached the server. Raises 406.
        """
        parts = [p for p in path.split("/") if p]
        top = len(parts) == 1
        if not parts or parts[0] not in ("api", "apis") or len(parts) > (2 if parts[0] == "api" else 3):
            return None
        rows = self._current()
        if not top and not any(r.group == ("" if parts[0] == "api" else parts[1]) for r in rows):
            return None
        output = negotiate.discovery(accept, aggregated=top)
        key = ("/".join(parts), f"{output.transform} {address if parts == ['api'] else ''}")
        if key not in self._kept:
            obj = _document(rows, parts, output, address)
            if obj is None:
                return None
            kind = output.media_type if output.transform else "application/json"
            self._kept[key] = Document(obj, kind, _HEADERS, body=encode(obj) + b"\n")
        return self._kept[key], output

    def _current(self) -> Sequence[Resource]:
        rows = self._resources()
        if rows is not self._rows:
            self._rows = rows
            self._kept.clear()
        return rows


def _document(rows: Sequence[Resource], parts: list[str], output: Output, address: str) -> Obj | None:
    match parts:
        case ["api" | "apis" as root] if output.transform:
            return aggregated(rows, core=root == "api")
        case ["api"]:
            return api_versions(rows, address)
        case ["apis"]:
            return group_list(rows)
        case ["api", version]:
            return resource_list(rows, "", version)
        case ["apis", name]:
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(rows, name)}
        case ["apis", name, version]:
            return resource_list(rows, name, version)
    return None


def api_versions(rows: Iterable[Resource], address: str) -> Obj:
    """`/api`: the versions of the core group."""
    return {
        "kind": "APIVersions",
        "versions": versions(rows, ""),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(rows: Sequence[Resource]) -> Obj:
    """`/apis`: every named group."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(rows, name) for name in groups(rows) if name],
    }


def _group(rows: Iterable[Resource], name: str) -> Obj:
    found = [{"groupVersion": f"{name}/{v}", "version": v} for v in versions(rows, name)]
    return {"name": name, "versions": found, "preferredVersion": found[0]}


def resource_list(rows: Iterable[Resource], group: str, version: str) -> Obj | None:
    """`/api/v1` and `/apis/<group>/<version>`; None if the version does not exist."""
    own = [r for r in rows if (r.group, r.version) == (group, version)]
    if not own:
        return None
    entries = [
        entry for r in own for entry in (_resource(r), *(_subresource(r, s) for s in r.subresources.values()))
    ]
    out: Obj = {"kind": "APIResourceList"}
    if group:
        # The core group's document is older than the rule that documents carry their version.
        out["apiVersion"] = "v1"
    out["groupVersion"] = f"{group}/{version}" if group else version
    out["resources"] = sorted(entries, key=lambda e: str(e["name"]))
    return out


def _resource(r: Resource) -> Obj:
    out: Obj = {
        "name": r.plural,
        "singularName": r.singular,
        "namespaced": r.namespaced,
        "kind": r.kind,
        "verbs": _verbs(r),
    }
    out |= _other_names(r)
    if "get" in r.verbs:
        out["storageVersionHash"] = storage_version_hash(r)
    return out


def _other_names(r: Resource) -> Obj:
    found = {"shortNames": list(r.short_names), "categories": list(r.categories)}
    return {key: names for key, names in found.items() if names}


def _subresource(r: Resource, s: Subresource) -> Obj:
    out: Obj = {"name": f"{r.plural}/{s.name}", "singularName": "", "namespaced": r.namespaced}
    if s.group_version:
        group, _, version = s.group_version.rpartition("/")
        out["group"], out["version"] = group, version
    out["kind"] = s.kind
    out["verbs"] = sorted(s.verbs)
    return out


def aggregated(rows: Sequence[Resource], *, core: bool) -> Obj:
    """Everything of the core group, or of all named groups, in one APIGroupDiscoveryList."""
    names = [name for name in groups(rows) if bool(name) != core]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": name} if name else {},
                "versions": [
                    {
                        "version": version,
                        "resources": _aggregated_resources(rows, name, version),
                        "freshness": "Current",
                    }
                    for version in versions(rows, name)
                ],
            }
            for name in names
        ],
    }


def _aggregated_resources(rows: Iterable[Resource], group: str, version: str) -> list[Obj]:
    own = [r for r in rows if (r.group, r.version) == (group, version)]
    return [_aggregated_resource(r) for r in sorted(own, key=lambda r: r.plural)]


def _aggregated_resource(r: Resource) -> Obj:
    out: Obj = {
        "resource": r.plural,
        "responseKind": _response_kind(r.kind),
        "scope": "Namespaced" if r.namespaced else "Cluster",
        "singularResource": r.singular,
        "verbs": _verbs(r),
    }
    out |= _other_names(r)
    if r.subresources:
        out["subresources"] = [
            {
                "subresource": s.name,
                "responseKind": _response_kind(s.kind, s.group_version),
                "verbs": sorted(s.verbs),
            }
            for s in sorted(r.subresources.values(), key=lambda s: s.name)
        ]
    return out


def _response_kind(kind: str, group_version: str = "") -> Obj:
    """A kind with its group and version. Both are empty if they equal those of the list around it."""
    group, _, version = group_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind}


def _verbs(r: Resource) -> list[str]:
    if r.style == "custom":
        return [v for v in _CUSTOM_VERBS if v in r.verbs]
    return sorted(r.verbs)


def groups(rows: Iterable[Resource]) -> list[str]:
    """The groups in order, each once; the core group is the empty name."""
    return list(dict.fromkeys(r.group for r in rows))


def versions(rows: Iterable[Resource], group: str) -> list[str]:
    """A group's versions, the preferred one first.

    Versions of built-in groups are listed in order of preference. Those of users' definitions are ranked:
    releases before betas before alphas, higher numbers first.
    """
    own = [r for r in rows if r.group == group]
    found = list(dict.fromkeys(r.version for r in own))
    if all(r.style == "custom" for r in own):
        found = sorted(sorted(found), key=_rank, reverse=True)
    return found


def _rank(version: str) -> tuple[int, int, int, int]:
    """The rank of a version: a higher rank is preferred. Names that are no versions rank last, all equal."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (0, 0, 0, 0)
    major, stage, minor = match.groups()
    return (1, _STAGE[stage], int(major), int(minor or 0))
