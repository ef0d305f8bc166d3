"""Whole resources inside a custom resource (`x-kubernetes-embedded-resource`): their metadata is read as
metadata, whatever the schema says of it, and they must have apiVersion and kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from longshore.api import codec, field, names
from longshore.api.codec import DecodeError
from longshore.api.field import FieldError
from longshore.api.structural.node import Node, walked
from longshore.api.types import Obj
from longshore.api.validation import metadata

OBJECT_META: Final = "meta/v1.ObjectMeta"
_UNKNOWN: Final = 'unknown field "'
_JSON_WORDS: Final = {str: "string", bool: "bool", list: "array"}


def coerce_metadata(obj: Obj, path: str) -> list[str]:
    """Reads `obj["metadata"]` as metadata, in place; returns the paths of unknown fields in it.

    Raises DecodeError if that is impossible.
    """
    sent = obj.get("metadata")
    if sent is not None and type(sent) is not dict:
        word = _JSON_WORDS.get(type(sent), "number")
        raise DecodeError(f"json: cannot unmarshal {word} into Go value of type v1.ObjectMeta")
    decoded = codec.from_value(sent, OBJECT_META)
    obj["metadata"] = decoded.obj
    if sent and sent.get("managedFields") == []:
        obj["metadata"]["managedFields"] = []  # asks to forget all managers, so it must not vanish
    unknown = [p[len(_UNKNOWN) : -1] for p in decoded.problems if p.startswith(_UNKNOWN)]
    return [f"{path}.{name}" for name in unknown]


def coerce(value: Any, node: Node) -> list[str]:
    """Reads the metadata of all embedded resources; returns the paths of unknown fields in them."""
    unknown: list[str] = []
    for obj, path in _embedded(value, node):
        for key in ("apiVersion", "kind"):
            if key in obj and not isinstance(obj[key], str):
                raise DecodeError(str(field.invalid(f"{path}.{key}", obj[key], "must be a string")))
        if "metadata" in obj:
            try:
                unknown.extend(coerce_metadata(obj, f"{path}.metadata"))
            except DecodeError as error:
                problem = field.invalid(f"{path}.metadata", obj["metadata"], str(error))
                raise DecodeError(str(problem)) from None
            if obj["metadata"].get("creationTimestamp") is None:
                obj["metadata"].pop("creationTimestamp", None)
    return unknown


def problems(value: Any, node: Node) -> list[FieldError]:
    """All problems with the type and metadata of embedded resources."""
    return [problem for obj, path in _embedded(value, node) for problem in _wrong(obj, path)]


def _embedded(value: Any, node: Node) -> Iterator[tuple[Obj, str]]:
    """Every embedded resource with its path, outer ones first."""
    for obj, own, path in walked(value, node, lambda below: below.embeds_below):
        if own.embedded and path and type(obj) is dict:
            yield obj, path


def _wrong(obj: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not version:
        found.append(field.required(f"{path}.apiVersion"))
    elif version.count("/") > 1:
        text = f"unexpected GroupVersion string: {version}"
        found.append(field.invalid(f"{path}.apiVersion", version, text))
    if not kind:
        found.append(field.required(f"{path}.kind"))
    elif wrong := names.dns1035_label(kind.lower()):
        text = "may have mixed case, but should otherwise match: " + ",".join(wrong)
        found.append(field.invalid(f"{path}.kind", kind, text))
    if "metadata" in obj:
        meta = {"name": "fakename", **obj["metadata"]}  # a name is not needed inside another object
        found += metadata.validate_create(
            meta, namespaced=bool(meta.get("namespace")), name_rule="any", path=f"{path}.metadata"
        )
    return found
