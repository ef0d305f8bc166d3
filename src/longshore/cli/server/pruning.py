"""Deletes objects that earlier applies made and that are no longer among the applied ones.

An object counts as applied when this manager applied it, or when it carries the annotation of kubectl's plain
apply. Objects that others made are never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from longshore.api import errors
from longshore.api.types import Obj
from longshore.cli.arguments.kinds import Kind, Kinds
from longshore.cli.arguments.targets import Target
from longshore.cli.main import Said
from longshore.cli.server.requests import Server

_KINDS: Final = (
    "core/v1/ConfigMap", "core/v1/Endpoints", "core/v1/Namespace", "core/v1/PersistentVolumeClaim",
    "core/v1/PersistentVolume", "core/v1/Pod", "core/v1/ReplicationController", "core/v1/Secret",
    "core/v1/Service", "batch/v1/Job", "batch/v1/CronJob", "networking.k8s.io/v1/Ingress",
    "apps/v1/DaemonSet", "apps/v1/Deployment", "apps/v1/ReplicaSet", "apps/v1/StatefulSet",
    "batch.volcano.sh/v1alpha1/Job", "flow.volcano.sh/v1alpha1/JobFlow",
    "flow.volcano.sh/v1alpha1/JobTemplate",
)  # fmt: skip
"""Kubectl's kinds, and Volcano's."""
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def kinds(known: Kinds, asked: Sequence[str]) -> list[Kind]:
    """The kinds to look at: the ones asked for as GROUP/VERSION/KIND, else the usual ones that are served."""
    found = []
    for word in asked or _KINDS:
        group, slash, rest = word.partition("/")
        version, more, name = rest.partition("/")
        if not slash or not more:
            raise Said(
                f"error: invalid GroupVersionKind format: {word}, please follow <group/version/kind>", 2
            )
        group = "" if group == "core" else group
        row = known.of({"apiVersion": f"{group}/{version}" if group else version, "kind": name})
        if row is not None:
            found.append(row)
        elif asked:
            raise Said(f"error: no matches for kind {name!r} in version {word.rpartition('/')[0]!r}", 2)
    return found


def stale(
    server: Server,
    kinds: Iterable[Kind],
    namespaces: Iterable[str],
    selector: str,
    kept: set[str],
    manager: str,
) -> list[Target]:
    """The objects to delete. `kept` has the UIDs of the applied ones."""
    found = []
    query = {"labelSelector": selector} if selector else {}
    for kind in kinds:
        for namespace in sorted(namespaces) if kind.namespaced else [""]:
            for obj in server.json("GET", kind.path(namespace), query=query).get("items") or ():
                meta = obj["metadata"]
                if meta["uid"] not in kept and not meta.get("deletionTimestamp") and _applied(meta, manager):
                    found.append(Target(kind, meta["name"], namespace))
    return found


def _applied(meta: Obj, manager: str) -> bool:
    if _APPLIED in (meta.get("annotations") or {}):
        return True
    entries = meta.get("managedFields") or ()
    return any((each.get("manager"), each.get("operation")) == (manager, "Apply") for each in entries)


def delete(server: Server, target: Target, dry_run: str) -> None:
    """Deletes one object, and what it owns in the background. One that is gone already is no error."""
    options: Obj = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    if dry_run == "server":
        options["dryRun"] = ["All"]
    if dry_run == "client":
        return
    with errors.tolerated(404):
        server.json("DELETE", target.path, body=options)
