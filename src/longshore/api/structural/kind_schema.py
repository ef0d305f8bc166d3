"""The compiled schema of a kind: its shape, pruning, defaults and checks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

import msgspec

from longshore.api import field, shape
from longshore.api.errors import StatusError
from longshore.api.field import FieldError
from longshore.api.shape import ListShape, ListType, MapShape, Shape
from longshore.api.structural import embedded, prune, validate
from longshore.api.structural.node import ABSENT, Node, of_kind, walked
from longshore.api.structural.wording import Problem
from longshore.api.types import Obj, copy_of, decode, encode, is_same


class Schema:
    """The schema of a kind. Objects are given without apiVersion and kind."""

    def __init__(self, schema: Obj, *, status_apart: bool, lasts: bool = False) -> None:
        """`lasts` says that the schema is built in and never changes."""
        self.node = of_kind(schema)
        self._status_apart, self._lasts = status_apart, lasts
        self._by_part = (
            not self.node.embeds_below
            and self.node.judges_members_alone
            and not (self.node.additional is not None and self.node.additional.lists_below)
        )
        self._lists = tuple(name for name, own in self.node.properties.items() if own.lists_below)

    @cached_property
    def shape(self) -> MapShape:
        """The shape of the kind, for server-side apply."""
        whole = shape_of_kind(self.node, status_apart=self._status_apart)
        whole.lasts = self._lasts
        return whole

    def coerce(self, obj: Obj) -> list[str]:
        """Reads metadata as metadata and drops unknown fields, in place; returns their paths.

        Raises DecodeError for unreadable metadata.
        """
        unknown = embedded.coerce_metadata(obj, "metadata")
        unknown += prune.prune(obj, self.node)
        if self.node.embeds_below:
            unknown += embedded.coerce(obj, self.node)
        return unknown

    def fill(self, obj: Obj) -> None:
        """Fills in defaults, in place."""
        fill(obj, self.node)

    def fitted(self, obj: Obj) -> Obj:
        """A stored object in the form of this schema; `obj` itself if that changes nothing. If defaults would
        make it too large, it is shown without them, so that it can be read and deleted."""
        own: Obj = copy_of(obj)
        prune.prune(own, self.node)
        try:
            fill(own, self.node)
        except StatusError:
            own = copy_of(obj)
            prune.prune(own, self.node)
        return obj if own == obj else own

    def part(self, name: str, value: Obj) -> Obj | None:
        """A copy of one part of an object, read as by `coerce` and `fill`. None if the whole object is
        needed: for unknown fields, for embedded resources, or if the schema has no such part."""
        node = self.node.properties.get(name)
        if node is None or node.embeds_below:
            return None
        own: Obj = decode(encode(value))
        if prune.prune(own, node):
            return None
        fill(own, node)
        return own

    def problems(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """Everything wrong with an object. On an update, problems that the old object had are ignored."""
        node = self.node
        if old is not None and self._by_part and self._changes_are_right(obj, old):
            return []
        found = validate.problems(obj, node, ABSENT if old is None else old)
        if node.embeds_below:
            found += embedded.problems(obj, node)
        if node.lists_below and (repeated := list_problems(obj, node)):
            found += repeated if old is None or not list_problems(old, node) else []
        return found

    def _changes_are_right(self, obj: Obj, old: Obj) -> bool:
        """Whether everything that changed is valid. Most updates change one part, and problems of unchanged
        parts are not reported."""
        node = self.node
        found: list[Problem] = []
        validate.check_changes(obj, old, node, None, found)
        if found:
            return False
        parts = {
            name: obj[name]
            for name in self._lists
            if name in obj and not (name in old and is_same(obj[name], old[name]))
        }
        return not (parts and list_problems(parts, node))


# ---- Shapes of schemas for server-side apply: which parts are one leaf, which have an owner per member.

_SCALARS: Final[dict[tuple[str, ...], Shape]] = {
    ("string",): shape.STRING,
    ("boolean",): shape.BOOLEAN,
    ("integer",): shape.NUMERIC,
    ("number",): shape.NUMERIC,
    ("integer", "string"): shape.ANY_SCALAR,
}
_LIST_TYPES: Final[dict[str, ListType]] = {"set": "set", "map": "map"}


def shape_of_kind(node: Node, *, status_apart: bool) -> MapShape:
    """The shape of a whole kind from the node of its schema."""
    fields = {name: shape_of(child) for name, child in node.properties.items()}
    element = shape.UNTYPED if node.preserve else None
    return shape.custom_kind(fields, status_apart=status_apart, element=element)


def shape_of(node: Node) -> Shape:
    """The shape of any part of a schema."""
    if (scalar := _SCALARS.get(node.types)) is not None:
        return scalar
    if node.types == ("array",):
        return _list(node)
    if node.types != ("object",):
        return shape.UNTYPED
    fields: dict[str, Shape] = {}
    if node.embedded:
        meta = shape.shape_of_message("meta/v1.ObjectMeta")
        fields = {"apiVersion": shape.STRING, "kind": shape.STRING, "metadata": meta}
    fields.update((name, shape_of(child)) for name, child in node.properties.items() if name not in fields)
    element = shape_of(node.additional) if node.additional is not None else None
    if node.preserve or not (fields or element):
        element = shape.UNTYPED
    return MapShape(fields, element=element, atomic=node.map_type == "atomic")


def _list(node: Node) -> ListShape:
    if node.items is None:
        return ListShape(shape.UNTYPED)
    items = node.items
    defaults = {
        key: child.default
        for key in node.keys
        if (child := items.properties.get(key)) is not None and child.default is not ABSENT
    }
    return ListShape(
        shape_of(items), _LIST_TYPES.get(node.list_type, "atomic"), keys=node.keys, defaults=defaults
    )


# ---- Lists of type set and map hold nothing twice: no equal items, no two items with the same keys.


def list_problems(value: Any, node: Node) -> list[FieldError]:
    """A problem for every repeated item. Keys of maps are in brackets, as Kubernetes prints them."""
    found: list[FieldError] = []
    for items, own, path in walked(value, node, lambda below: below.lists_below):
        if type(items) is list and own.list_type == "set":
            found += [field.duplicate(f"{path}[{i}]", items[i]) for i in _repeated(items)]
        elif type(items) is list and own.list_type == "map":
            found += _same_keys(items, own, path)
    return found


def _same_keys(value: list[Any], node: Node, path: str) -> list[FieldError]:
    for index, item in enumerate(value):
        if item is not None and type(item) is not dict:
            return [
                field.invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
            ]
    if len(value) < 2:
        return []
    keys: list[Obj] = [{k: item[k] for k in node.keys if k in item} if item else {} for item in value]
    return [field.duplicate(f"{path}[{i}]", keys[i]) for i in _repeated(keys)]


def _repeated(items: Iterable[Any]) -> list[int]:
    """The indexes at which values occur for the second time; further repetitions are not reported."""
    seen: dict[bytes, int] = {}
    out = []
    for index, item in enumerate(items):
        text = msgspec.json.encode(item, order="sorted")
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            out.append(index)
    return out


# ---- Fills in defaults: for a field that is not there, or null where null is not allowed.
#
# Works in place. A default that is an object gets the defaults inside it, too. Every member of a list can get
# the same default, so a small object could become a huge one: what defaults may add to an object is limited.

MAX_DEFAULT_BYTES: Final = 3 * 1024 * 1024
"""Bytes that the defaults of a schema may add to one object: as many as a body may have."""


def fill(value: Any, node: Node) -> None:
    """Fills in every default of the schema. Raises StatusError 413 if that is too much, and leaves `value`
    half filled."""
    if node.defaults_below:
        _Filling().fill(value, node)


class _Filling:
    def __init__(self) -> None:
        self._left = MAX_DEFAULT_BYTES

    def fill(self, value: Any, node: Node) -> None:
        if type(value) is dict:
            self._object(value, node)
        elif type(value) is list and node.items is not None:
            items = node.items
            for index, item in enumerate(value):
                if item is None and not items.nullable and items.default is not ABSENT:
                    item = value[index] = self._default(items)
                if items.defaults_below:
                    self.fill(item, items)

    def _object(self, value: dict[str, Any], node: Node) -> None:
        for name, child in node.defaulted:
            if name not in value or (value[name] is None and not child.nullable):
                value[name] = self._default(child)
        properties, additional = node.properties, node.additional
        for key, inner in value.items():
            child = properties.get(key, additional)  # type: ignore[assignment] # a schema either way
            if child is None:
                continue
            if inner is None and child is additional and not child.nullable and child.default is not ABSENT:
                inner = value[key] = self._default(child)
            if child.defaults_below:
                self.fill(inner, child)

    def _default(self, node: Node) -> Any:
        self._left -= node.default_bytes
        if self._left < 0:
            text = f"the defaults of its schema add more than {MAX_DEFAULT_BYTES} bytes"
            raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
        return copy_of(node.default)
