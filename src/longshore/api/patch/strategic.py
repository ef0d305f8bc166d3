"""Strategic merge patch: a merge patch that knows the type, so lists can merge by key.

Directives in the patch steer it: `$patch` (replace, delete), `$retainKeys`,
`$deleteFromPrimitiveList/<field>`, `$setElementOrder/<field>`. `strategic_lists.py` merges lists. Most
mistakes in directives are plain errors upstream, hence a 500 to the client; `PatchFormat` marks the few that
are a 400 or 422.
"""

from __future__ import annotations

from typing import Any, Final

from longshore.api import gotext, schema
from longshore.api.patch import strategic_lists as lists
from longshore.api.patch.strategic_lists import (
    DELETE_PREFIX,
    DIRECTIVE,
    ORDER_PREFIX,
    PatchError,
    PatchFormat,
)
from longshore.api.types import Obj

RETAIN: Final = "$retainKeys"
_BAD_RETAIN: Final = "invalid patch format of retainKeys"


def merged(original: Obj, patch: Obj, message_id: str) -> Obj:
    """The patched object. `original` is not changed; directives are removed from `patch` on the way.

    Raises PatchError (its subclass PatchFormat for a malformed patch).
    """
    return _merge_map(original, patch, schema.Type("message", message_id))


def _merge_map(original: Obj, patch: Obj, type_: schema.Type) -> Obj:
    if DIRECTIVE in patch:
        return _replaced(patch)
    out = dict(original)
    _retain(out, patch)
    for key in [k for k in patch if k.startswith(ORDER_PREFIX)]:
        _order(out, patch, key, type_)
    for key, value in patch.items():
        name = lists.field_name(key, DELETE_PREFIX) if key.startswith(DELETE_PREFIX) else key
        if value is None:
            out.pop(name, None)
        elif type(out.get(name)) is not type(value) or name not in out:
            if name == key:
                _take(out, name, value)
        elif type(value) is dict:
            field_type, strategies, _ = _metadata(type_, name)
            out[name] = value if "replace" in strategies else _merge_map(out[name], value, field_type)
        elif type(value) is list:
            out[name] = _merge_list(out[name], value, type_, name, deleting=name != key)
        else:
            out[name] = value
    return out


def _replaced(patch: Obj) -> Obj:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        del patch[DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise lists.unknown_directive(directive, patch)


def _retain(out: Obj, patch: Obj) -> None:
    if RETAIN not in patch:
        return
    keys = patch.pop(RETAIN)
    if type(keys) is not list:
        raise PatchFormat(_BAD_RETAIN)
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETE_PREFIX, ORDER_PREFIX)) and key not in keys:
            raise PatchFormat(_BAD_RETAIN)
    for key in [k for k in out if k not in keys]:
        del out[key]


def _take(out: Obj, name: str, value: Any) -> None:
    """Sets a field that the original lacks, without nulls and directives, which have nothing to act on."""
    lists.discard_nulls(value)
    kept, value = lists.without_directives(value)
    if kept:
        out[name] = value
    else:
        out.pop(name, None)


def _merge_list(
    original: list[Any], patch: list[Any], type_: schema.Type, name: str, *, deleting: bool = False
) -> list[Any]:
    field_type, strategies, key = _metadata(type_, name)
    if "merge" not in strategies:
        return patch
    return lists.merged(
        original, patch, key, lambda a, b: _merge_map(a, b, field_type.items), deleting=deleting
    )


def _order(out: Obj, patch: Obj, key: str, type_: schema.Type) -> None:
    """Carries out `$setElementOrder`: merges the list it names and puts the items into that order."""
    order = patch.pop(key)
    if type(order) is not list:
        raise lists.wrong_type([], order)
    name = lists.field_name(key, ORDER_PREFIX)
    for side in (out, patch):
        if name in side and type(side[name]) is not list:
            raise lists.wrong_type([], side[name])
    _, _, merge_key = _metadata(type_, name)
    lists.check_order(patch.get(name, []), order, merge_key)
    if name not in out and name not in patch:
        return
    original, items = out.get(name, []), patch.pop(name, None)
    if items is None:
        together = original
    elif name not in out:
        together = items
    else:
        together = _merge_list(original, items, type_, name)
    out[name] = lists.in_order(together, order, original, merge_key, also=items or [])


def _metadata(type_: schema.Type, name: str) -> tuple[schema.Type, tuple[str, ...], str]:
    """The type, patch strategies and merge key of a field."""
    if type_.kind == "map":
        return type_.items, (), ""
    message = schema.message(type_.name) if type_.kind == "message" else None
    field = message.fields.get(name) if message else None
    if field is None:
        struct = message.name if message else type_.name
        raise PatchError(
            f"unable to find api field in struct {struct} for the json field {gotext.syntax(name)}"
        )
    return field.type, field.patch_strategies, field.patch_merge_key
