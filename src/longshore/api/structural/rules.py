"""Checks of the schemas in a definition: no forbidden keywords, and extensions that fit together.

Paths are those of the definition (`spec.validation.openAPIV3Schema.properties[spec]`). Whether a schema
is structural is a question of its own: `structure.py`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from longshore.api import field
from longshore.api.field import FieldError
from longshore.api.structural.node import META_FIELDS
from longshore.api.types import Obj

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_ROOT_WITH_STATUS: Final = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}
"""Keywords allowed at the root of a schema with a status subresource, with their names in Go."""


class _Context(msgspec.Struct, frozen=True):
    defaults: bool = True
    why_no_defaults: str = ""
    in_metadata: bool = False


def problems(schema: Obj, path: str, *, status: bool) -> list[FieldError]:
    """Everything that is not allowed in a schema. `status` says whether /status exists."""
    found: list[FieldError] = []
    if status:
        found += _root_with_status(schema, path)
    if schema.get("nullable"):
        found.append(field.forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    return found + _schema(schema, path, _Context(), root=True)


def _root_with_status(schema: Obj, path: str) -> list[FieldError]:
    """Checks that the root has only keywords that can be checked without the status."""
    kind = schema.get("type")
    if kind and kind != "object":
        text = (
            'only "object" is allowed as the type at the root of the schema '
            "if the status subresource is enabled"
        )
        return [field.invalid(f"{path}.type", kind, text)]
    if all(name in _ROOT_WITH_STATUS for name, value in schema.items() if value not in (None, False, "", [])):
        return []
    listed = " ".join(_ROOT_WITH_STATUS.values())
    text = (
        f"only [{listed}] fields are allowed at the root of the schema if the status subresource is enabled"
    )
    return [field.invalid(path, schema, text)]


def _schema(schema: Any, path: str, context: _Context, *, root: bool = False) -> list[FieldError]:
    if not isinstance(schema, dict):
        return []
    found = _words(schema, path, context)
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.append(field.forbidden(f"{path}.uniqueItems", text))
    additional = schema.get("additionalProperties")
    if additional is not None:
        if schema.get("properties") and additional is not True:
            text = "additionalProperties and properties are mutual exclusive"
            found.append(field.forbidden(f"{path}.additionalProperties", text))
        inner = context
        if context.in_metadata:
            reason = "inside additionalProperties applying to object metadata"
            inner = replace(context, defaults=False, why_no_defaults=reason)
        found += _schema(additional, f"{path}.additionalProperties", inner)
    for name, own in (schema.get("properties") or {}).items():
        inner = context
        if (root or schema.get("x-kubernetes-embedded-resource")) and name in META_FIELDS:
            inner = replace(context, in_metadata=True)
            if root:
                inner = replace(inner, defaults=False, why_no_defaults=f"in top-level {name}")
        found += _schema(own, f"{path}.properties[{name}]", inner)
    found += _schema(schema.get("not"), f"{path}.not", context)
    for word in ("allOf", "oneOf", "anyOf"):
        for index, own in enumerate(schema.get(word) or ()):
            found += _schema(own, f"{path}.{word}[{index}]", context)
    found += _schema(schema.get("items"), f"{path}.items", context)
    return found + _extensions(schema, path)


def _words(schema: Obj, path: str, context: _Context) -> list[FieldError]:
    found: list[FieldError] = []
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        found.append(field.not_supported(f"{path}.type", kind, _TYPES))
    if schema.get("default") is not None and not context.defaults:
        found.append(
            field.forbidden(f"{path}.default", f"must not be set {context.why_no_defaults}".rstrip())
        )
    for word in _UNSUPPORTED:
        if schema.get(word) not in (None, "", {}):
            found.append(field.forbidden(f"{path}.{word}", f"{word} is not supported"))
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        found.append(field.forbidden(f"{path}.type", text))
    if isinstance(schema.get("items"), list):
        found.append(field.forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if context.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        text = "must not be used inside of resource meta"
        found.append(field.forbidden(f"{path}.x-kubernetes-embedded-resource", text))
    return found


def _extensions(schema: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    keep = "x-kubernetes-preserve-unknown-fields"
    if schema.get(keep) is False:
        found.append(field.invalid(f"{path}.{keep}", False, "must be true or undefined"))
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None:
        found += _needs_type(schema, path, "object", "x-kubernetes-map-type")
        if map_type not in ("atomic", "granular"):
            found.append(
                field.not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))
            )
    return found + _list_type(schema, path)


def _needs_type(schema: Obj, path: str, wanted: str, because: str) -> list[FieldError]:
    kind = schema.get("type") or ""
    if kind == wanted:
        return []
    text = f"must be {wanted} if {because} is specified"
    return [field.invalid(f"{path}.type", kind, text) if kind else field.required(f"{path}.type", text)]


def _list_type(schema: Obj, path: str) -> list[FieldError]:
    word, keys_word = f"{path}.x-kubernetes-list-type", f"{path}.x-kubernetes-list-map-keys"
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    found: list[FieldError] = []
    if list_type is not None:
        wrong = _needs_type(schema, path, "array", "x-kubernetes-list-type")
        found += wrong or (_atomic_items(schema, path) if list_type == "set" else [])
        if list_type not in ("atomic", "set", "map"):
            found.append(field.not_supported(word, list_type, ("atomic", "set", "map")))
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        found.append(
            field.required(word, text) if list_type is None else field.invalid(word, list_type, text)
        )
    items = schema.get("items")
    if list_type == "map":
        if not keys:
            found.append(field.required(keys_word, "must not be empty if x-kubernetes-list-type is map"))
        if items is None:
            text = "must have a schema if x-kubernetes-list-type is map"
            found.append(field.required(f"{path}.items", text))
        elif isinstance(items, dict):
            found += _keys(items, keys, path, keys_word)
    if list_type in ("map", "set") and isinstance(items, dict):
        found += _not_nullable(items, keys, path, list_type)
    return found


def _atomic_items(schema: Obj, path: str) -> list[FieldError]:
    """Checks that items of a set are atomic: sets compare an item as a whole, so it must have one owner."""
    items = schema.get("items")
    if not isinstance(items, dict):
        return []
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get("x-kubernetes-list-type") not in (None, "atomic"):
        word = "x-kubernetes-list-type"
        return [field.invalid(f"{path}.items.{word}", items[word], text)]
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        word = "x-kubernetes-map-type"
        return [field.invalid(f"{path}.items.{word}", items.get(word), text)]
    return []


def _keys(items: Obj, keys: list[str], path: str, keys_word: str) -> list[FieldError]:
    kind = items.get("type") or ""
    if kind != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        return [field.invalid(f"{path}.items.type", kind, text)]
    found: list[FieldError] = []
    properties = items.get("properties") or {}
    seen: set[str] = set()
    for key in keys:
        if key not in properties:
            found.append(field.invalid(keys_word, keys, "entries must all be names of item properties"))
        elif properties[key].get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            found.append(field.invalid(f"{path}.items.properties[{key}].type", kind, text))
        if key in seen:
            found.append(field.invalid(keys_word, keys, "must not contain duplicate entries"))
        seen.add(key)
    return found


def _not_nullable(items: Obj, keys: list[str], path: str, list_type: str) -> list[FieldError]:
    found: list[FieldError] = []
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        found.append(field.forbidden(f"{path}.items.nullable", text))
    if list_type != "map":
        return found
    what = "this property is in x-kubernetes-list-map-keys, so it"
    required = frozenset(items.get("required") or ())
    for key in keys:
        own = (items.get("properties") or {}).get(key)
        if own is None:
            continue
        where = f"{path}.items.properties[{key}]"
        if key not in required and own.get("default") is None:
            text = f"{what} must have a default or be a required property"
            found.append(field.required(f"{where}.default", text))
        if own.get("nullable"):
            found.append(field.forbidden(f"{where}.nullable", f"{what} cannot be nullable"))
    return found
