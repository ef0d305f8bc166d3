"""Builds a kustomization: the objects of its resources, changed as it says, in the order to apply them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from longshore.api.types import Obj, copy_of
from longshore.cli.kustomize import generated_maps, name_references, patching, transforms
from longshore.cli.kustomize.kustomization import Kustomization
from longshore.cli.kustomize.pieces_of_build import Piece

_REMOTE: Final = ("http://", "https://", "git@", "github.com/", "ssh://", "git::")
_FIRST: Final = (
    "Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount",
    "PodSecurityPolicy", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret",
    "Endpoints", "Service", "LimitRange", "PriorityClass", "PersistentVolume", "PersistentVolumeClaim",
    "Deployment", "StatefulSet", "CronJob", "PodDisruptionBudget",
)  # fmt: skip
_LAST: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_STEPS: Final = (
    patching.patch,
    transforms.set_namespace,
    transforms.set_names,
    transforms.set_labels,
    transforms.set_annotations,
    patching.json_patch,
    transforms.set_replicas,
    transforms.set_images,
)
"""Kustomize's order."""


def build(directory: Path) -> list[Obj]:
    """All objects. Raises `Wrong` or `Said` with the file at fault."""
    pieces: list[Piece] = []
    _build(directory, pieces, ())
    generated_maps.add_hashes(pieces)
    name_references.follow(pieces)
    return [piece.obj for piece in sorted(pieces, key=_order)]


def _build(directory: Path, into: list[Piece], above: tuple[Path, ...]) -> None:
    """Adds a kustomization's objects. A component works on all that are there, others on their own."""
    kustomization = Kustomization(directory)
    place = directory.resolve()
    if place in above:
        raise kustomization.wrong(f"it is among its own resources, by way of {above[-1]}")
    pieces = into if kustomization.is_component else []
    for name in [*kustomization.listed("resources"), *kustomization.listed("bases")]:
        _add(kustomization, str(name), pieces, (*above, place))
    generated_maps.generate(kustomization, pieces)
    for name in kustomization.listed("components"):
        _directory(kustomization, str(name))
        _build(kustomization.directory / name, pieces, (*above, place))
    _refuse_twins(kustomization, pieces)
    for step in _STEPS:
        step(kustomization, pieces)
    name_references.follow(pieces)
    if pieces is not into:
        into += pieces


def _add(kustomization: Kustomization, name: str, pieces: list[Piece], above: tuple[Path, ...]) -> None:
    from longshore.cli.arguments import manifest_files

    if name.startswith(_REMOTE):
        raise kustomization.wrong(f"resources: {name}: only files and directories of this machine are read")
    if (kustomization.directory / name).is_dir():
        inner = Kustomization(kustomization.directory / name)
        if inner.is_component:
            raise kustomization.wrong(f"resources: {name} is a Component; name it under components")
        _build(kustomization.directory / name, pieces, above)
        return
    raw = kustomization.read(name)
    for manifest in manifest_files.parse(raw, str(kustomization.directory / name)):
        if not manifest.obj["metadata"].get("name"):
            raise kustomization.wrong(f"{name}: a {manifest.obj['kind']} has no metadata.name")
        pieces.append(Piece(copy_of(manifest.obj)))


def _directory(kustomization: Kustomization, name: str) -> None:
    if name.startswith(_REMOTE) or not (kustomization.directory / name).is_dir():
        raise kustomization.wrong(f"components: {name} is not a directory of this machine")


def _refuse_twins(kustomization: Kustomization, pieces: list[Piece]) -> None:
    seen = set()
    for piece in pieces:
        key = (piece.group, piece.kind, piece.name)
        if key in seen:
            raise kustomization.wrong(f"{piece.text()} is there twice")
        seen.add(key)


def _order(piece: Piece) -> tuple[int, str, str, str]:
    """Kinds that others need come first."""
    rank = 0
    if piece.kind in _FIRST:
        rank = _FIRST.index(piece.kind) - len(_FIRST)
    elif piece.kind in _LAST:
        rank = 1 + _LAST.index(piece.kind)
    gvk = "_".join((piece.group or "~G", piece.version, piece.kind))
    return rank, gvk, piece.name.namespace or "~X", piece.name.name
