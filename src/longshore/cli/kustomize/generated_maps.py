"""ConfigMaps and Secrets from literals and files, named with a hash of their content."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Final

from longshore.api.types import Obj
from longshore.cli.kustomize.kustomization import Kustomization
from longshore.cli.kustomize.pieces_of_build import Piece

_FIELDS: Final = ("name", "namespace", "literals", "files", "envs", "env", "behavior", "options")
_OPTIONS: Final = ("labels", "annotations", "disableNameSuffixHash", "immutable")
_LINE_LENGTH: Final = 70
"""Characters in a line of a Secret's base64 text."""
_LETTERS: Final = str.maketrans("013ae", "ghkmt")
"""Digits and vowels of the hash are replaced, so that no word comes out."""


def generate(kustomization: Kustomization, pieces: list[Piece]) -> None:
    """Adds the maps of both generators to the pieces, or changes those that are there."""
    shared = kustomization.mapped("generatorOptions")
    kustomization.check(shared, "generatorOptions", *_OPTIONS)
    for field, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
        known = (*_FIELDS, "type") if kind == "Secret" else _FIELDS
        for at, given in enumerate(kustomization.records(field, *known)):
            where = f"{field}[{at}]"
            if not given.get("name"):
                raise kustomization.wrong(f"{where}.name: a name is needed")
            options = given.get("options") or {}
            kustomization.check(options, f"{where}.options", *_OPTIONS)
            _add(kustomization, pieces, _made(kustomization, kind, given, shared, options), given, where)


def _made(kustomization: Kustomization, kind: str, given: Obj, shared: Obj, options: Obj) -> Piece:
    content = _content(kustomization, given)
    meta: Obj = {"name": given["name"]}
    if given.get("namespace"):
        meta["namespace"] = given["namespace"]
    for key in ("labels", "annotations"):
        if together := {**(shared.get(key) or {}), **(options.get(key) or {})}:
            meta[key] = together
    obj: Obj = {"apiVersion": "v1", "kind": kind, "metadata": meta}
    if kind == "Secret":
        obj["type"] = given.get("type") or "Opaque"
        obj["data"] = {key: base64.b64encode(value).decode() for key, value in content.items()}
    else:
        texts = {key: text for key, value in content.items() if (text := _text(value)) is not None}
        others = {key: base64.b64encode(v).decode() for key, v in content.items() if key not in texts}
        obj |= ({"data": texts} if texts else {}) | ({"binaryData": others} if others else {})
    if options.get("immutable", shared.get("immutable")):
        obj["immutable"] = True
    plain = options.get("disableNameSuffixHash") or shared.get("disableNameSuffixHash")
    return Piece(obj, hashed=not plain)


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _content(kustomization: Kustomization, given: Obj) -> dict[str, bytes]:
    found: dict[str, bytes] = {}

    def take(key: str, value: bytes) -> None:
        if key in found:
            raise kustomization.wrong(f"{given['name']}: the key {key} is there twice")
        found[key] = value

    envs = [*(given.get("envs") or ()), *([given["env"]] if given.get("env") else ())]
    for name in envs:
        for line in kustomization.read(name).decode(errors="replace").splitlines():
            line = line.lstrip()
            if line and not line.startswith("#"):
                key, _, value = line.partition("=")
                take(key, value.encode())
    for word in given.get("files") or ():
        key, equals, name = word.partition("=")
        take(key if equals else word.rpartition("/")[2], kustomization.read(name if equals else word))
    for word in given.get("literals") or ():
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise kustomization.wrong(f"{given['name']}: the literal {word!r} must be KEY=VALUE")
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        take(key, value.encode())
    return found


def _add(kustomization: Kustomization, pieces: list[Piece], made: Piece, given: Obj, where: str) -> None:
    behavior = given.get("behavior") or "create"
    if behavior not in ("create", "merge", "replace"):
        raise kustomization.wrong(f"{where}.behavior: {behavior!r} is neither create, merge nor replace")
    if behavior == "create":
        pieces.append(made)
        return
    old = next((p for p in pieces if p.kind == made.kind and made.name in p.every_name), None)
    if old is None:
        raise kustomization.wrong(f"{where}: there is no {made.kind} {made.name.name!r} to {behavior}")
    keys = ("data", "binaryData") if behavior == "merge" else ()
    for key in keys:
        if together := {**(old.obj.get(key) or {}), **(made.obj.get(key) or {})}:
            made.obj[key] = together
    for key in ("labels", "annotations"):
        together = {**(old.obj["metadata"].get(key) or {}), **(made.obj["metadata"].get(key) or {})}
        if together:
            made.obj["metadata"][key] = together
    made.obj["metadata"] |= {k: v for k, v in old.obj["metadata"].items() if k in ("name", "namespace")}
    old.obj, old.hashed = made.obj, made.hashed or old.hashed


def add_hashes(pieces: list[Piece]) -> None:
    """Puts the hash of its content behind the name of each generated map."""
    for piece in pieces:
        if piece.hashed:
            piece.rename(name=f"{piece.name.name}-{_hash(piece.obj)}")


def _hash(obj: Obj) -> str:
    seen: Obj = {
        "kind": obj["kind"],
        "name": "",
        "data": obj.get("data", ""),
    }  # kustomize leaves the name out
    if obj["kind"] == "Secret":
        seen["type"] = obj.get("type", "")
        seen["data"] = {key: _lines(value) for key, value in obj["data"].items()}
    if obj.get("binaryData"):
        seen["binaryData"] = {key: _lines(value) for key, value in obj["binaryData"].items()}
    text = json.dumps(seen, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")  # as Go writes JSON
    return hashlib.sha256(text.encode()).hexdigest()[:10].translate(_LETTERS)


def _lines(text: str) -> str:
    """Base64 as it stands in kustomize's YAML: longer texts in lines, each with its end."""
    if len(text) <= _LINE_LENGTH:
        return text
    return "".join(f"{text[at : at + _LINE_LENGTH]}\n" for at in range(0, len(text), _LINE_LENGTH))
