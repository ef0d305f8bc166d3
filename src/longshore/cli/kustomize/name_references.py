"""References between objects, followed when the objects they name get other names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from longshore.cli.kustomize import field_paths
from longshore.cli.kustomize.field_paths import Place
from longshore.cli.kustomize.pieces_of_build import Name, Piece

_CONTAINERS: Final = ("containers[]", "initContainers[]", "ephemeralContainers[]")
_IN_PODS: Final = {
    "ConfigMap": (
        "volumes[]/configMap/name",
        "volumes[]/projected/sources[]/configMap/name",
        *(f"{each}/env[]/valueFrom/configMapKeyRef/name" for each in _CONTAINERS),
        *(f"{each}/envFrom[]/configMapRef/name" for each in _CONTAINERS),
    ),
    "Secret": (
        "volumes[]/secret/secretName",
        "volumes[]/projected/sources[]/secret/name",
        "imagePullSecrets[]/name",
        *(f"{each}/env[]/valueFrom/secretKeyRef/name" for each in _CONTAINERS),
        *(f"{each}/envFrom[]/secretRef/name" for each in _CONTAINERS),
    ),
    "ServiceAccount": ("serviceAccountName", "serviceAccount"),
    "PersistentVolumeClaim": ("volumes[]/persistentVolumeClaim/claimName",),
    "PriorityClass": ("priorityClassName",),
}
"""Paths below the spec of a pod, by the kind they name."""
_POD_SPECS: Final = {
    "Pod": "spec",
    "CronJob": "spec/jobTemplate/spec/template/spec",
    **dict.fromkeys(
        ("Job", "Deployment", "ReplicaSet", "ReplicationController", "DaemonSet", "StatefulSet"),
        "spec/template/spec",
    ),
}


class Other(NamedTuple):
    """A reference outside pods."""

    kind: str
    path: str
    names: str


_OTHERS: Final = (
    Other("ServiceAccount", "secrets[]/name", "Secret"),
    Other("ServiceAccount", "imagePullSecrets[]/name", "Secret"),
    Other("PersistentVolumeClaim", "spec/volumeName", "PersistentVolume"),
    Other("PersistentVolumeClaim", "spec/storageClassName", "StorageClass"),
    Other("PersistentVolume", "spec/storageClassName", "StorageClass"),
    Other("StatefulSet", "spec/serviceName", "Service"),
    Other("Role", "rules[]/resourceNames[]", "ConfigMap"),
    Other("Role", "rules[]/resourceNames[]", "Secret"),
    Other("ClusterRole", "rules[]/resourceNames[]", "ConfigMap"),
    Other("ClusterRole", "rules[]/resourceNames[]", "Secret"),
)


def follow(pieces: list[Piece]) -> None:
    """Writes the new names of renamed objects wherever they are referred to."""
    for piece in pieces:
        for kind, place in _references(piece):
            found = _renamed(pieces, kind, str(place.value), piece)
            if found is not None:
                place.set(found.name)
        _bindings(piece, pieces)


def _references(piece: Piece) -> Iterator[tuple[str, Place]]:
    start = _POD_SPECS.get(piece.kind)
    if start is not None and not (piece.kind in ("Job", "CronJob") and piece.group != "batch"):
        for kind, paths in _IN_PODS.items():
            for path in paths:
                for place in field_paths.find(piece.obj, f"{start}/{path}"):
                    yield kind, place
    for other in _OTHERS:
        if other.kind == piece.kind:
            for place in field_paths.find(piece.obj, other.path):
                yield other.names, place


def _bindings(piece: Piece, pieces: list[Piece]) -> None:
    if piece.kind not in ("RoleBinding", "ClusterRoleBinding"):
        return
    role = piece.obj.get("roleRef") or {}
    if found := _renamed(pieces, role.get("kind", ""), role.get("name", ""), piece):
        role["name"] = found.name
    for subject in piece.obj.get("subjects") or ():
        if subject.get("kind") == "ServiceAccount":
            found = _renamed(pieces, "ServiceAccount", subject.get("name", ""), piece)
            if found is not None:
                subject |= {"name": found.name} | ({"namespace": found.namespace} if found.namespace else {})


def _renamed(pieces: list[Piece], kind: str, name: str, referrer: Piece) -> Name | None:
    """The name of the object that was called so; None when none was, or none can be told."""
    candidates = [each for each in pieces if each.kind == kind and name in {n.name for n in each.every_name}]
    spaces = {each.namespace for each in referrer.every_name}
    near = [each for each in candidates if spaces & {n.namespace for n in each.every_name}]
    for group in (candidates, near, [each for each in near if each.name.name == name]):
        if len(group) == 1:
            return group[0].name
    return None
