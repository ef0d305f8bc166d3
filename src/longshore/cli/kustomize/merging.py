"""Strategic merges as kustomize makes them: items of a patch come first in lists that merge by a key.

Kinds that longshore knows merge by their schema; of the others (and of custom kinds) lists are replaced, but
for the pod templates of the group apps.
"""

from __future__ import annotations

from typing import Any, Final

from longshore.api import schema
from longshore.api.types import Obj

_POD_TEMPLATE: Final = "core/v1.PodTemplateSpec"
_DIRECTIVE: Final = "$patch"


class BadPatch(Exception):
    """The message names the field or directive."""


def is_deletion(patch: Obj) -> bool:
    """Whether a patch deletes the whole object."""
    return patch.get(_DIRECTIVE) == "delete"


def merged(original: Obj, patch: Obj) -> Obj:
    """The patched object; neither argument is changed."""
    from longshore.api.kinds import table

    row = table.by_kind(original["apiVersion"], original["kind"])
    if row is not None and row.style == "builtin" and row.message:
        return _map(original, patch, schema.Type("message", row.message))
    return _map(original, patch, _AppsType() if original["apiVersion"] == "apps/v1" else None)


class _AppsType:
    """The type of a kind of the group apps, down to its pod template."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth

    def field(self, name: str) -> tuple[Any, str]:
        if self._depth == 0 and name == "spec":
            return _AppsType(1), ""
        return (
            schema.Type("message", _POD_TEMPLATE) if self._depth == 1 and name == "template" else None
        ), ""


def _field(type: Any, name: str) -> tuple[Any, str]:
    """The type of a field, and the key that its list merges by; None and no key where nothing is known."""
    if type is None:
        return None, ""
    if isinstance(type, _AppsType):
        return type.field(name)
    if type.kind == "map":
        return type.items, ""
    field = schema.message(type.name).fields.get(name) if type.kind == "message" else None
    if field is None:
        return None, ""
    return field.type, field.patch_merge_key if "merge" in field.patch_strategies else ""


def _map(original: Any, patch: Obj, type: Any) -> Obj:
    rest = {key: value for key, value in patch.items() if key != _DIRECTIVE}
    match patch.get(_DIRECTIVE, "merge"):
        case "merge":
            out = dict(original) if isinstance(original, dict) else {}
        case "replace":
            out = {}
        case other:
            raise BadPatch(f"{_DIRECTIVE}: {other} cannot be done here")
    for key, value in rest.items():
        if key.startswith("$"):
            raise BadPatch(f"{key}: not supported in a kustomization's patch")
        inner, merge_key = _field(type, key)
        if value is None or (isinstance(value, dict) and value.get(_DIRECTIVE) == "delete"):
            out.pop(key, None)
        elif isinstance(value, dict):
            out[key] = _map(out.get(key), value, inner)
        elif isinstance(value, list) and merge_key:
            item = inner.items if inner is not None else None
            out[key] = _list(out.get(key) or [], value, item, merge_key)
        else:
            out[key] = value
    return out


def _list(original: list[Any], patch: list[Any], type: Any, key: str) -> list[Any]:
    if not all(isinstance(item, dict) for item in (*original, *patch)):
        return patch
    if any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return [item for item in patch if item.get(_DIRECTIVE) != "replace"]
    before = {item.get(key): item for item in original}
    named = {item.get(key) for item in patch}
    first = [
        _map(before.get(item.get(key)), item, type) for item in patch if item.get(_DIRECTIVE) != "delete"
    ]
    return first + [item for item in original if item.get(key) not in named]
