"""Patches of a kustomization: strategic merges and JSON patches, each for the objects it names or selects."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from longshore.api.errors import StatusError
from longshore.api.types import Obj, copy_of
from longshore.cli.kustomize import kustomization as files
from longshore.cli.kustomize import merging
from longshore.cli.kustomize.kustomization import Kustomization
from longshore.cli.kustomize.pieces_of_build import Piece

_TARGET: Final = ("group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector")
_OPTIONS: Final = ("allowNameChange", "allowKindChange")
_BETWEEN: Final = re.compile(rb"(?m)^---(?:[ \t].*)?\r?$")


def patch(kustomization: Kustomization, pieces: list[Piece]) -> None:
    """Carries out `patchesStrategicMerge` and `patches`."""
    for given in kustomization.listed("patchesStrategicMerge"):
        for each in _documents(kustomization, str(given)):
            _merge(kustomization, pieces, each, {}, {})
    for at, given in enumerate(kustomization.records("patches", "path", "patch", "target", "options")):
        options, target = given.get("options") or {}, given.get("target") or {}
        kustomization.check(options, f"patches[{at}].options", *_OPTIONS)
        kustomization.check(target, f"patches[{at}].target", *_TARGET)
        for each in _documents(kustomization, _source(kustomization, given, f"patches[{at}]")):
            if isinstance(each, list):
                _json(kustomization, pieces, each, target, f"patches[{at}]")
            else:
                _merge(kustomization, pieces, each, target, options)


def json_patch(kustomization: Kustomization, pieces: list[Piece]) -> None:
    """Carries out `patchesJson6902`."""
    for at, given in enumerate(
        kustomization.records("patchesJson6902", "path", "patch", "target", "options")
    ):
        where, target = f"patchesJson6902[{at}]", given.get("target") or {}
        kustomization.check(target, f"{where}.target", *_TARGET)
        for each in _documents(kustomization, _source(kustomization, given, where)):
            _json(kustomization, pieces, each, target, where)


def _source(kustomization: Kustomization, given: Obj, where: str) -> str:
    if bool(given.get("path")) == bool(given.get("patch")):
        raise kustomization.wrong(f"{where}: give either path or patch")
    return str(given.get("patch") or given["path"])


def _documents(kustomization: Kustomization, source: str) -> list[Any]:
    """The patches of a text, or of the file that it names."""
    inline = "\n" in source or source.lstrip().startswith(("{", "["))
    raw = source.encode() if inline else kustomization.read(source)
    where = kustomization.file if inline else Path(kustomization.directory / source)
    return [value for part in _BETWEEN.split(raw) if (value := files.parsed(part, where)) is not None]


def _merge(kustomization: Kustomization, pieces: list[Piece], change: Any, target: Obj, options: Obj) -> None:
    if not isinstance(change, dict):
        raise kustomization.wrong(f"a patch is a map or a list of operations, not {change!r}")
    wanted = _selected(kustomization, pieces, target) if target else _named(kustomization, pieces, change)
    for piece in wanted:
        if merging.is_deletion(change):
            pieces.remove(piece)
            continue
        try:
            after = merging.merged(piece.obj, change)
        except merging.BadPatch as err:
            raise kustomization.wrong(f"patch of {piece.text()}: {err}") from None
        meta = after["metadata"] = dict(after["metadata"])
        before = piece.obj
        if not options.get("allowKindChange"):
            after |= {"apiVersion": before["apiVersion"], "kind": before["kind"]}
        kept = ("namespace",) if options.get("allowNameChange") else ("name", "namespace")
        for key in kept:
            meta.pop(key, None)
            meta |= {key: before["metadata"][key]} if key in before["metadata"] else {}
        name, piece.obj = piece.name, after
        if piece.name != name:
            piece.names.append(name)


def _named(kustomization: Kustomization, pieces: list[Piece], change: Obj) -> list[Piece]:
    """The one object that a patch without a target names itself."""
    meta = change.get("metadata") or {}
    name, namespace = meta.get("name"), meta.get("namespace") or ""
    if not name or not change.get("kind"):
        raise kustomization.wrong("a patch without a target needs apiVersion, kind and metadata.name")
    found = [
        piece
        for piece in pieces
        if (piece.kind, piece.obj["apiVersion"]) == (change["kind"], change.get("apiVersion"))
        and any(name == each.name and namespace in ("", each.namespace) for each in piece.every_name)
    ]
    if len(found) != 1:
        many = "no object" if not found else f"{len(found)} objects"
        what = f'{change["kind"]} {change.get("apiVersion", "")} "{name}"'
        raise kustomization.wrong(f"patch of {what}: there is {many} of this name")
    return found


def _json(kustomization: Kustomization, pieces: list[Piece], steps: Any, target: Obj, where: str) -> None:
    from longshore.api.patch import json_patch

    if not target:
        raise kustomization.wrong(f"{where}.target: a JSON patch needs a target")
    if not isinstance(steps, list):
        raise kustomization.wrong(f"{where}: a JSON patch is a list of operations")
    for piece in _selected(kustomization, pieces, target):
        before = piece.name
        try:
            piece.obj = json_patch.patched(copy_of(piece.obj), steps)
        except json_patch.DoesNotApply as err:
            raise kustomization.wrong(f"{where}: patch of {piece.text()}: {err}") from None
        if piece.name != before:
            piece.names.append(before)


def _selected(kustomization: Kustomization, pieces: list[Piece], target: Obj) -> list[Piece]:
    """The objects that a target selects: its texts are whole regular expressions."""
    try:
        return [piece for piece in pieces if _matches(piece, target)]
    except (re.error, StatusError) as err:
        raise kustomization.wrong(f"target {target}: {err}") from None


def _matches(piece: Piece, target: Obj) -> bool:
    from longshore.api.selectors import labels

    has = {"group": piece.group, "version": piece.version, "kind": piece.kind}
    for key, value in has.items():
        if target.get(key) and not re.fullmatch(target[key], value):
            return False
    if not any(
        re.fullmatch(target.get("name") or ".*", each.name)
        and re.fullmatch(target.get("namespace") or ".*", each.namespace)
        for each in piece.every_name
    ):
        return False
    meta = piece.obj["metadata"]
    return all(
        not target.get(key) or labels.parse(target[key]).matches(meta.get(field) or {})
        for key, field in (("labelSelector", "labels"), ("annotationSelector", "annotations"))
    )
