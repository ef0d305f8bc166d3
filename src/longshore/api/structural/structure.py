"""Checks that a schema is structural: each type named once, outside of all logic, and defaults that fit.

Only a structural schema says of every field whether it is known, so only such a schema can be enforced.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from longshore.api import field
from longshore.api.field import FieldError
from longshore.api.structural import embedded, node, patterns, prune, validate, wording
from longshore.api.structural.node import META_FIELDS
from longshore.api.types import Obj, copy_of

_Level = Literal["root", "item", "field"]
_UNTYPED: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_KEEP: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_STRING: Final = "x-kubernetes-int-or-string"
_NOT_NESTED: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("externalDocs", "must be undefined to be structural"),
    (_KEEP, "must be false to be structural"),
    (_EMBEDDED, "must be false to be structural"),
    (_INT_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
"""Keywords that are forbidden inside allOf, anyOf, oneOf and not."""


def problems(schema: Obj, path: str) -> list[FieldError]:
    """The reasons why a schema is not structural; for a structural one, the defaults that do not fit it."""
    found = _invariants(schema, "root", path) + _complete(schema, schema, path, path)
    return sorted(found, key=str) if found else _defaults(schema, path, root=True, in_metadata=False)


def _invariants(schema: Obj, level: _Level, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    kind = schema.get("type") or ""
    if kind == "array" and not isinstance(schema.get("items"), dict):
        found.append(field.required(f"{path}.items", "must be specified"))
    if isinstance(own := schema.get("items"), dict):
        found += _invariants(own, "item", f"{path}.items")
    properties = schema.get("properties") or {}
    for name, own in properties.items():
        found += _invariants(own, "field", f"{path}.properties[{name}]")
    additional = schema.get("additionalProperties")
    if additional is not None:
        if level == "root":
            found.append(field.forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, dict):
            found += _invariants(additional, "field", f"{path}.additionalProperties")
    found += _logic(schema, path, _any_of_is_int_or_string(schema), _all_of_is_int_or_string(schema))
    found += _types(schema, kind, level, path)
    if level == "root" or schema.get(_EMBEDDED):
        for name in ("kind", "apiVersion"):
            own_type = properties.get(name, {"type": "string"}).get("type") or ""
            if own_type != "string":
                found.append(field.invalid(f"{path}.properties[{name}].type", own_type, "must be string"))
        if "metadata" in properties:
            found += _metadata(properties["metadata"], level, f"{path}.properties[metadata]")
    if schema.get(_EMBEDDED) and not schema.get(_KEEP) and not properties:
        text = f"must not be empty if {_EMBEDDED} is true without {_KEEP}"
        found.append(field.required(f"{path}.properties", text))
    return found


def _types(schema: Obj, kind: str, level: _Level, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if schema.get(_INT_STRING):
        for word in (_KEEP, _EMBEDDED):
            if schema.get(word):
                found.append(field.invalid(f"{path}.{word}", True, f"must be false if {_INT_STRING} is true"))
    if schema.get(_EMBEDDED) and kind != "object":
        text = f"must be object if {_EMBEDDED} is true"
        found.append(
            field.invalid(f"{path}.type", kind, text) if kind else field.required(f"{path}.type", text)
        )
    elif not kind and not schema.get(_INT_STRING) and not schema.get(_KEEP):
        found.append(field.required(f"{path}.type", _UNTYPED[level]))
    if schema.get(_EMBEDDED) and schema.get("additionalProperties") is not None:
        text = f"must not be used if {_EMBEDDED} is set"
        found.append(field.forbidden(f"{path}.additionalProperties", text))
    if level == "root" and kind and kind != "object":
        found.append(field.invalid(f"{path}.type", kind, "must be object at the root"))
    return found


def _metadata(schema: Obj, level: _Level, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if (schema.get("type") or "") != "object":
        found.append(field.invalid(f"{path}.type", schema.get("type") or "", "must be object"))
    if level == "root":
        own = {k: v for k, v in schema.items() if k not in ("type", "default") and v}
        if set(own.get("properties") or ()) <= {"name", "generateName"}:
            own.pop("properties", None)
        if own:
            text = (
                "must not specify anything other than name and generateName, but metadata is implicitly "
                "specified"
            )
            found.append(field.forbidden(path, text))
    return found


def _any_of_is_int_or_string(schema: Obj) -> bool:
    return schema.get("anyOf") == _INT_OR_STRING


def _all_of_is_int_or_string(schema: Obj) -> bool:
    return bool(schema.get("allOf")) and schema["allOf"][0].get("anyOf") == _INT_OR_STRING


def _logic(schema: Obj, path: str, skip_any_of: bool, skip_first: bool) -> list[FieldError]:
    """Checks allOf, anyOf, oneOf, not and pattern. An int-or-string may repeat its types there."""
    found: list[FieldError] = []
    if not skip_any_of:
        for index, own in enumerate(schema.get("anyOf") or ()):
            found += _nested(own, f"{path}.anyOf[{index}]")
    for index, own in enumerate(schema.get("allOf") or ()):
        found += _nested(own, f"{path}.allOf[{index}]", skip_any_of=skip_first and not index)
    for index, own in enumerate(schema.get("oneOf") or ()):
        found += _nested(own, f"{path}.oneOf[{index}]")
    if isinstance(schema.get("not"), dict):
        found += _nested(schema["not"], f"{path}.not")
    if text := schema.get("pattern"):
        try:
            patterns.check(text)
        except patterns.BadPattern as error:
            why = f"must be a valid regular expression, but isn't: {error}"
            found.append(field.invalid(f"{path}.pattern", text, why))
    return found


def _nested(schema: Obj, path: str, *, skip_any_of: bool = False) -> list[FieldError]:
    found = _logic(schema, path, skip_any_of, False)
    if isinstance(schema.get("items"), dict):
        found += _nested(schema["items"], f"{path}.items")
    properties = schema.get("properties") or {}
    for name, own in properties.items():
        found += _nested(own, f"{path}.properties[{name}]")
    for word, text in _NOT_NESTED:
        if schema.get(word) not in (None, False, "", []):
            found.append(field.forbidden(f"{path}.{word}", text))
    if "metadata" in properties:
        text = "must not be specified in a nested context"
        found.append(field.forbidden(f"{path}.properties[metadata]", text))
    return found


def _complete(logic: Obj, schema: Any, logic_path: str, path: str) -> list[FieldError]:
    """Checks that fields inside allOf, anyOf, oneOf and not are specified outside of these, too."""
    found: list[FieldError] = []
    parts = [(logic["not"], "not")] if isinstance(logic.get("not"), dict) else []
    for word in ("allOf", "anyOf", "oneOf"):
        parts += [(own, f"{word}[{index}]") for index, own in enumerate(logic.get(word) or ())]
    for own, step in parts:
        found += _complete_nested(own, schema, f"{logic_path}.{step}", path)
    return found


def _complete_nested(logic: Obj, schema: Any, logic_path: str, path: str) -> list[FieldError]:
    if not isinstance(schema, dict):
        return [field.required(path, f"because it is defined in {logic_path}")]
    found = _complete(logic, schema, logic_path, path)
    if isinstance(logic.get("items"), dict):
        items = schema.get("items")
        found += _complete_nested(logic["items"], items, f"{logic_path}.items", f"{path}.items")
    properties = schema.get("properties") or {}
    for name, own in (logic.get("properties") or {}).items():
        step = f"properties[{name}]"
        found += _complete_nested(own, properties.get(name), f"{logic_path}.{step}", f"{path}.{step}")
    return found


def _defaults(schema: Obj, path: str, *, root: bool, in_metadata: bool) -> list[FieldError]:
    """Checks that defaults have no unknown fields and are valid themselves."""
    found: list[FieldError] = []
    whole = root or bool(schema.get(_EMBEDDED))
    if whole:
        in_metadata = False
    default = schema.get("default")
    if default is not None and not in_metadata:
        found += _default(default, schema, f"{path}.default")
    if isinstance(schema.get("items"), dict):
        found += _defaults(schema["items"], f"{path}.items", root=False, in_metadata=in_metadata)
    for name, own in (schema.get("properties") or {}).items():
        inside = in_metadata or (whole and name in META_FIELDS)
        found += _defaults(own, f"{path}.properties[{name}]", root=False, in_metadata=inside)
    return found


def _default(default: Any, schema: Obj, path: str) -> list[FieldError]:
    compiled = node.compiled(schema)
    found: list[FieldError] = []
    if isinstance(default, dict | list) and prune.prune(copy_of(default), compiled):
        found.append(field.invalid(path, default, "must not have unknown fields"))
    for error in [*embedded.problems(default, compiled), *validate.problems(default, compiled)]:
        inside = "" if error.field in ("", wording.NO_FIELD) else f".{error.field}"
        found.append(FieldError(error.reason, path + inside, error.value, error.detail))
    return found
