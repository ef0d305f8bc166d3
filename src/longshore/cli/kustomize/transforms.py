"""Changes to all objects of a kustomization: namespace, names, labels, annotations, images, replicas.

The paths are those of kustomize's own configuration.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from longshore.api.types import Obj
from longshore.cli.kustomize import field_paths
from longshore.cli.kustomize.kustomization import Kustomization
from longshore.cli.kustomize.pieces_of_build import Piece

_UNNAMED: Final = frozenset(("APIService", "CustomResourceDefinition", "Namespace"))
"""Kinds that take no prefix or suffix."""
_SCALED: Final = frozenset(("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"))
_IMAGE: Final = re.compile(r"(?P<name>[^@]+?)(?P<tag>:[^/:@]+)?(?P<digest>@.+)?")


class Spec(NamedTuple):
    """A field of some kinds. `create` says whether it is made where it is missing."""

    kinds: str
    path: str
    create: bool = True


_TEMPLATES: Final = (
    *(
        Spec(kind, "spec/template/metadata/{}")
        for kind in ("ReplicationController", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job")
    ),
    Spec("CronJob", "spec/jobTemplate/metadata/{}"),
    Spec("CronJob", "spec/jobTemplate/spec/template/metadata/{}"),
)
"""Metadata of pods (and Jobs) to be made."""
_SELECTORS: Final = (
    Spec("Service", "spec/selector"),
    Spec("ReplicationController", "spec/selector"),
    Spec("Deployment", "spec/selector/matchLabels"),
    Spec("ReplicaSet", "spec/selector/matchLabels"),
    Spec("DaemonSet", "spec/selector/matchLabels"),
    Spec("StatefulSet", "spec/selector/matchLabels"),
    Spec("StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels"),
    Spec("Job", "spec/selector/matchLabels", False),
    Spec("CronJob", "spec/jobTemplate/spec/selector/matchLabels", False),
    Spec("PodDisruptionBudget", "spec/selector/matchLabels", False),
    Spec("NetworkPolicy", "spec/podSelector/matchLabels", False),
)
_GROUPS: Final = {"Job": "batch", "CronJob": "batch", "Service": ""}
"""Groups of kinds whose names others share."""


def set_namespace(kustomization: Kustomization, pieces: list[Piece]) -> None:
    wanted = kustomization.text("namespace")
    if not wanted:
        return
    for piece in pieces:
        if piece.kind == "Namespace" and not piece.group:
            piece.rename(name=wanted)
        elif piece.is_namespaced:
            piece.rename(namespace=wanted)
        if piece.kind in ("RoleBinding", "ClusterRoleBinding"):
            for subject in piece.obj.get("subjects") or ():
                if (subject.get("kind"), subject.get("name")) == ("ServiceAccount", "default"):
                    subject["namespace"] = wanted


def set_names(kustomization: Kustomization, pieces: list[Piece]) -> None:
    prefix, suffix = kustomization.text("namePrefix"), kustomization.text("nameSuffix")
    for piece in pieces:
        if (prefix or suffix) and piece.kind not in _UNNAMED:
            piece.rename(name=f"{prefix}{piece.name.name}{suffix}")


def set_labels(kustomization: Kustomization, pieces: list[Piece]) -> None:
    everywhere = kustomization.mapped("commonLabels")
    known = ("pairs", "includeSelectors", "includeTemplates")
    for given in [*kustomization.records("labels", *known), {"pairs": everywhere, "includeSelectors": True}]:
        specs: list[Spec] = []
        if given.get("includeSelectors"):
            specs += [*_SELECTORS, *_TEMPLATES]
        elif given.get("includeTemplates"):
            specs += _TEMPLATES
        _set(pieces, given.get("pairs") or {}, "labels", specs)


def set_annotations(kustomization: Kustomization, pieces: list[Piece]) -> None:
    _set(pieces, kustomization.mapped("commonAnnotations"), "annotations", [*_TEMPLATES])


def _set(pieces: list[Piece], pairs: Obj, field: str, specs: list[Spec]) -> None:
    for piece in pieces if pairs else ():
        mine = [spec for spec in specs if _is_for(spec, piece)]
        for spec in (Spec("", f"metadata/{field}"), *mine):
            for place in field_paths.find(piece.obj, spec.path.format(field), create=spec.create):
                place.set({**place.value, **pairs})


def _is_for(spec: Spec, piece: Piece) -> bool:
    return spec.kinds == piece.kind and _GROUPS.get(piece.kind, piece.group) == piece.group


def set_images(kustomization: Kustomization, pieces: list[Piece]) -> None:
    for given in kustomization.records("images", "name", "newName", "newTag", "digest", "tagSuffix"):
        for piece in pieces:
            for container in _containers(piece.obj):
                container["image"] = _image(container["image"], given)


def _containers(value: Any) -> list[Obj]:
    """All containers with an image, wherever they stand."""
    found: list[Obj] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("containers", "initContainers") and isinstance(inner, list):
                found += [each for each in inner if isinstance(each, dict) and each.get("image")]
            else:
                found += _containers(inner)
    elif isinstance(value, list):
        for inner in value:
            found += _containers(inner)
    return found


def _image(image: str, given: Obj) -> str:
    parts = _IMAGE.fullmatch(image)
    if parts is None or parts["name"] != given.get("name"):
        return image
    tag, digest = parts["tag"] or "", parts["digest"] or ""
    if given.get("newTag") or given.get("digest"):
        tag = f":{given['newTag']}" if given.get("newTag") else ""
        digest = f"@{given['digest']}" if given.get("digest") else ""
    if given.get("tagSuffix") and tag:
        tag += str(given["tagSuffix"])
    return f"{given.get('newName') or parts['name']}{tag}{digest}"


def set_replicas(kustomization: Kustomization, pieces: list[Piece]) -> None:
    for at, given in enumerate(kustomization.records("replicas", "name", "count")):
        wanted = [
            piece
            for piece in pieces
            if piece.kind in _SCALED and given.get("name") in {name.name for name in piece.every_name}
        ]
        if not wanted:
            raise kustomization.wrong(
                f"replicas[{at}]: nothing with replicas is called {given.get('name')!r}"
            )
        for piece in wanted:
            piece.obj.setdefault("spec", {})["replicas"] = given.get("count")
