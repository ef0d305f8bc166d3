"""How a strategic merge patch merges lists, and what order the items end up in.

Items of the patch keep the patch's order, and items of the live list keep theirs. Of two items that the live
list has, its order decides; items that it lacks come first. So a new item stands before the live ones, unless
it follows a patched one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from longshore.api import gotext
from longshore.api.types import Obj

DIRECTIVE: Final = "$patch"
DELETE_PREFIX: Final = "$deleteFromPrimitiveList"
ORDER_PREFIX: Final = "$setElementOrder"
_MISSING: Final = object()
_BAD_FORMAT: Final = {
    DELETE_PREFIX: "invalid patch format of primitive list",
    ORDER_PREFIX: "invalid patch format of setElementOrder list",
}


class PatchError(Exception):
    """The patch cannot be applied. Upstream has no status for this: the client sees a 500."""


class PatchFormat(PatchError):
    """A directive is malformed: the client's mistake."""

    def __init__(self, text: str, code: int = 400) -> None:
        super().__init__(text)
        self.code = code


def no_merge_key(item: Obj, key: str) -> PatchError:
    return PatchError(f"map: {gotext.plain(item)} does not contain declared merge key: {key}")


def wrong_type(expected: Any, found: Any) -> PatchError:
    shown = "%!s(<nil>)" if found is None else gotext.type_name(found)
    return PatchError(f"expected a {gotext.type_name(expected)}, but received a {shown}")


def unknown_directive(directive: Any, item: Obj) -> PatchError:
    shown = directive if isinstance(directive, str) else _as_string(directive)
    return PatchError(f"unknown patch type: {shown} in map: {gotext.plain(item)}")


def _as_string(value: Any) -> str:
    """Go's `%s` of a value that is no string."""
    if value is None:
        return "%!s(<nil>)"
    return f"%!s({gotext.type_name(value)}={gotext.plain(value)})"


def field_name(key: str, prefix: str) -> str:
    """The field in a directive's key: `finalizers` of `$deleteFromPrimitiveList/finalizers`."""
    head, slash, name = key.partition("/")
    if head != prefix or not slash:
        raise PatchFormat(_BAD_FORMAT[prefix])
    return name


def merged(
    original: list[Any],
    patch: list[Any],
    key: str,
    merge_maps: Callable[[Obj, Obj], Obj],
    *,
    deleting: bool,
) -> list[Any]:
    """The patched list. If `deleting`, the patch has scalars to remove."""
    if not original and not patch:
        return original
    if not _are_maps(original, patch):
        if deleting:
            known = _Places(patch)
            return [v for v in original if known.first(v) < 0]
        together = list(dict.fromkeys([*original, *patch]))
        return _interleaved(together, patch, original, key)
    if not key:
        raise PatchError("cannot merge lists without merge key for map")
    original, patch = _carry_out_directives(original, patch, key)
    return _interleaved(_merged_maps(original, patch, key, merge_maps), patch, original, key)


def _merged_maps(
    original: list[Any], patch: list[Any], key: str, merge_maps: Callable[[Obj, Obj], Obj]
) -> list[Any]:
    out = list(original)
    places = _Places(item.get(key, _MISSING) for item in out)
    for item in patch:
        if key not in item:
            raise no_merge_key(item, key)
        at = places.first(item[key])
        if at < 0:
            out.append(item)
            places.add(item[key])
        else:
            out[at] = merge_maps(out[at], item)
    return out


def _carry_out_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Deletes items and replaces the list as the patch's directives say; removes the directives."""
    plain: list[Any] = []
    deleted = _Places(())
    replace = False
    for item in patch:
        if DIRECTIVE not in item:
            plain.append(item)
        elif item[DIRECTIVE] == "delete":
            if key not in item:
                raise no_merge_key(item, key)
            deleted.add(item[key])
        elif item[DIRECTIVE] == "replace":
            replace = True
        elif item[DIRECTIVE] == "merge":
            raise PatchError("merging lists cannot yet be specified in the patch")
        else:
            raise unknown_directive(item[DIRECTIVE], item)
    if replace:
        return plain, []
    return [v for v in original if key not in v or deleted.first(v[key]) < 0], plain


def in_order(
    together: list[Any], order: list[Any], original: list[Any], key: str, *, also: list[Any]
) -> list[Any]:
    """The merged list with the items of `$setElementOrder` in that order, others near their old place."""
    _are_maps(original, also)
    return _interleaved(together, order, original, key)


def check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Checks that every item of the patch is in the order list, in the same order, except deletions."""
    if not patch or not order:
        return
    for item in patch if key else []:
        if type(item) is not dict:
            raise wrong_type({}, item)
    due = [v for v in patch if not key or v.get(DIRECTIVE) != "delete"]
    at = 0
    for wanted in order:
        while at < len(due) and type(due[at]) is dict and DIRECTIVE in due[at]:
            at += 1
        if at == len(due):
            break
        if _same_key(due[at], wanted, key):
            at += 1
    if at < len(due):
        raise PatchError(
            f"The order in patch list:\n{gotext.plain(patch)}\n"
            f" doesn't match {ORDER_PREFIX} list:\n{gotext.plain(order)}\n"
        )


def _same_key(left: Any, right: Any, key: str) -> bool:
    if not key:
        return bool(left == right)
    for item in (left, right):
        if type(item) is not dict:
            raise wrong_type({}, item)
        if key not in item:
            raise no_merge_key(item, key)
    return bool(left[key] == right[key])


def _interleaved(together: list[Any], first: list[Any], live: list[Any], key: str) -> list[Any]:
    """Merges two orders: items named in `first` keep its order, the others keep the live order."""
    for item in [*together, *first, *live] if key else []:
        if type(item) is not dict:
            raise wrong_type({}, item)
        if key not in item:
            raise no_merge_key(item, key)
    rank = _ranks(first, key)
    place = _ranks(live, key)
    ours = sorted((v for v in together if _id(v, key) in rank), key=lambda v: rank[_id(v, key)])
    theirs = [v for v in together if _id(v, key) not in rank]
    theirs.sort(key=lambda v: place.get(_id(v, key), len(live)))
    out: list[Any] = []
    waiting = 0
    for item in theirs:
        own = place.get(_id(item, key))
        while waiting < len(ours):
            other = place.get(_id(ours[waiting], key))
            if own is not None and other is not None and own < other:
                break
            out.append(ours[waiting])
            waiting += 1
        out.append(item)
    return out + ours[waiting:]


def _id(item: Any, key: str) -> Any:
    return _hashable(item[key] if key else item)


def _hashable(value: Any) -> Any:
    """A hashable value that equals only values of its own type: JSON's 1 and true differ, unlike Python's."""
    return (type(value), value if type(value) not in (dict, list) else gotext.syntax(value))


def _ranks(items: list[Any], key: str) -> dict[Any, int]:
    out: dict[Any, int] = {}
    for index, item in enumerate(items):
        out.setdefault(_id(item, key), index)
    return out


class _Places:
    """The first position of each value in a list, found without a search."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._by_value: dict[Any, int] = {}
        self._count = 0
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:
        self._by_value.setdefault(_mark(value), self._count)
        self._count += 1

    def first(self, value: Any) -> int:
        """The position of the first equal value; -1 if there is none."""
        return self._by_value.get(_mark(value), -1)


def _mark(value: Any) -> Any:
    """A hashable stand-in for a value. Equal values have equal stand-ins."""
    if type(value) in (dict, list):
        return type(value), msgspec.json.encode(value, order="deterministic")
    return value


def _are_maps(*lists: list[Any]) -> bool:
    """Whether the items are maps. All must have one type, and lists of lists are not supported."""
    kinds = {type(v) for items in lists for v in items}
    if not kinds:
        raise PatchError("no elements in any of the given slices")
    if type(next(v for items in lists for v in items)) is list:
        raise PatchFormat("lists of lists are not supported", 422)
    if len(kinds) > 1:
        raise PatchError(f"list element types are not identical: {gotext.plain(list(lists))}")
    return kinds == {dict}


def discard_nulls(value: Any) -> None:
    """Takes nulls out of all maps within a value."""
    if type(value) is dict:
        for key in [k for k, v in value.items() if v is None]:
            del value[key]
        for inner in value.values():
            discard_nulls(inner)
    elif type(value) is list:
        for inner in value:
            discard_nulls(inner)


def without_directives(value: Any) -> tuple[bool, Any]:
    """A value without the maps in it that have `$patch`; False if the value is such a map itself."""
    if type(value) is dict:
        if DIRECTIVE in value:
            return False, None
        for key, inner in list(value.items()):
            kept, inner = without_directives(inner)
            if kept:
                value[key] = inner
            else:
                del value[key]
    elif type(value) is list:
        return True, [inner for kept, inner in map(without_directives, value) if kept]
    return True, value
