"""A compiled schema: every fact is an attribute, and facts about a subtree are computed once.

Compiling raises no errors: `rules.py` has refused schemas that break the rules, and unknown keywords are
ignored, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from longshore.api.structural import formats
from longshore.api.types import Obj, encode

ABSENT: Final[Any] = object()
"""Stands for a missing value where null is a value."""

META_FIELDS: Final = frozenset(("apiVersion", "kind", "metadata"))

_PYTHON: Final[Mapping[str, frozenset[type]]] = {
    "object": frozenset((dict,)),
    "array": frozenset((list,)),
    "string": frozenset((str,)),
    "boolean": frozenset((bool,)),
    "integer": frozenset((int,)),
    "number": frozenset((int, float)),
}
_INT_OR_STRING: Final = ("integer", "string")
_INT_OR_STRING_ANY_OF: Final = [{"type": "integer"}, {"type": "string"}]
_NOTHING: Final[frozenset[type]] = frozenset()
INT_RANGES: Final[Mapping[str, tuple[int, int]]] = {"int32": (-(2**31), 2**31 - 1)}
INT64: Final = (-(2**63), 2**63 - 1)
MAX_EXACT_FLOAT: Final = 2**53 - 1
"""The largest float that Go's validator accepts as an integer."""


class Node:
    """One schema. `plain` holds the Python types whose values need no further check."""

    __slots__ = (
        "accepts",
        "additional",
        "all_of",
        "any_of",
        "any_of_int_or_string",
        "composed",
        "default",
        "default_bytes",
        "defaulted",
        "defaults_below",
        "embedded",
        "embeds_below",
        "enum",
        "exclusive_maximum",
        "exclusive_minimum",
        "format",
        "format_check",
        "integers",
        "items",
        "judges_members_alone",
        "keys",
        "list_type",
        "lists_below",
        "map_type",
        "max_items",
        "max_length",
        "max_properties",
        "maximum",
        "min_items",
        "min_length",
        "min_properties",
        "minimum",
        "multiple_of",
        "not_",
        "nullable",
        "one_of",
        "open",
        "pattern",
        "plain",
        "preserve",
        "properties",
        "required",
        "types",
    )

    def __init__(self) -> None:
        self.types: tuple[str, ...] = ()
        """Names of JSON types in the schema; two for an int-or-string, none if any type is allowed."""
        self.accepts: frozenset[type] | None = None
        self.plain: frozenset[type] = _NOTHING
        self.nullable = False
        self.default: Any = ABSENT
        self.default_bytes = 0
        """The length of the default as JSON, in bytes."""
        self.defaulted: tuple[tuple[str, Node], ...] = ()
        """The properties that have a default."""
        self.enum: list[Any] | None = None
        self.format = ""
        self.format_check: formats.Check | None = None
        self.pattern = ""
        self.min_length: int | None = None
        self.max_length: int | None = None
        self.minimum: float | None = None
        self.maximum: float | None = None
        self.exclusive_minimum = False
        self.exclusive_maximum = False
        self.multiple_of: float | None = None
        self.integers: tuple[int, int] | None = None
        """The smallest and the largest integer that need no further check; None if all need one."""
        self.items: Node | None = None
        self.min_items: int | None = None
        self.max_items: int | None = None
        self.list_type = ""
        self.keys: tuple[str, ...] = ()
        """The keys of a list of type map."""
        self.properties: dict[str, Node] = {}
        self.additional: Node | None = None
        """The schema of keys that are no properties; `open` says whether such keys are allowed."""
        self.open = True
        self.required: tuple[str, ...] = ()
        self.min_properties: int | None = None
        self.max_properties: int | None = None
        self.map_type = ""
        self.judges_members_alone = False
        """Whether an object is valid if its members are valid and no required one is missing."""
        self.preserve = False
        self.embedded = False
        self.all_of: tuple[Node, ...] = ()
        self.any_of: tuple[Node, ...] = ()
        self.one_of: tuple[Node, ...] = ()
        self.not_: Node | None = None
        self.any_of_int_or_string = False
        """Whether anyOf only repeats that the value is an integer or a string."""
        self.composed = False
        self.defaults_below = False
        """Whether there is a default anywhere below this node (its own does not count)."""
        self.lists_below = False
        """Whether this node or one below it is a list of type set or map."""
        self.embeds_below = False
        """Whether this node or one below it is an embedded resource."""

    def children(self) -> list[Node]:
        """The nodes of properties, items and additional keys."""
        inside = list(self.properties.values())
        return inside + [n for n in (self.items, self.additional) if n is not None]


def _empty() -> Node:
    node = Node()
    node.nullable = True
    return node


EMPTY: Final = _empty()
"""An empty schema, which keeps nothing: every object under it loses all its fields."""


def compiled(schema: Obj) -> Node:
    """The node of a whole schema. Parts that are the same dict become the same node."""
    return _Compiler().node(schema)


def of_kind(schema: Obj) -> Node:
    """The node of a whole kind: a resource, whose apiVersion and kind are not among its fields."""
    node = compiled(schema)
    node.embedded = True
    node.required = tuple(name for name in node.required if name not in ("apiVersion", "kind"))
    return node


class _Compiler:
    def __init__(self) -> None:
        self._known: dict[int, Node] = {}

    def node(self, schema: Obj) -> Node:
        known = self._known.get(id(schema))
        if known is None:
            known = self._known[id(schema)] = self._compiled(schema)
        return known

    def _compiled(self, schema: Obj) -> Node:
        node = Node()
        _values(node, schema)
        node.properties = {name: self.node(own) for name, own in (schema.get("properties") or {}).items()}
        if isinstance(own := schema.get("items"), dict):
            node.items = self.node(own)
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            node.additional = self.node(additional)
        elif additional is not None:
            node.additional, node.open = EMPTY, bool(additional)
        node.all_of = self._all(schema.get("allOf"))
        node.any_of = self._all(schema.get("anyOf"))
        node.one_of = self._all(schema.get("oneOf"))
        node.any_of_int_or_string = schema.get("anyOf") == _INT_OR_STRING_ANY_OF
        if isinstance(own := schema.get("not"), dict):
            node.not_ = self.node(own)
        node.composed = bool(node.all_of or node.any_of or node.one_of or node.not_)
        _summarise(node)
        return node

    def _all(self, schemas: list[Obj] | None) -> tuple[Node, ...]:
        return tuple(self.node(own) for own in schemas or ())


def _values(node: Node, schema: Obj) -> None:
    """Reads the keywords of the schema about the value itself."""
    node.types = (schema["type"],) if schema.get("type") else ()
    if schema.get("x-kubernetes-int-or-string"):
        node.types = _INT_OR_STRING
    if node.types:
        node.accepts = frozenset().union(*(_PYTHON.get(name, _NOTHING) for name in node.types))
    node.nullable = bool(schema.get("nullable"))
    if (default := schema.get("default")) is not None:
        node.default, node.default_bytes = default, len(encode(default))
    node.enum = schema.get("enum") or None
    if formats.is_known(schema):
        node.format = schema["format"]
        node.format_check = formats.check_of(node.format)
    node.pattern = schema.get("pattern") or ""
    node.min_length, node.max_length = schema.get("minLength"), schema.get("maxLength")
    node.minimum, node.maximum = schema.get("minimum"), schema.get("maximum")
    node.exclusive_minimum = bool(schema.get("exclusiveMinimum"))
    node.exclusive_maximum = bool(schema.get("exclusiveMaximum"))
    node.multiple_of = schema.get("multipleOf")
    node.min_items, node.max_items = schema.get("minItems"), schema.get("maxItems")
    node.min_properties, node.max_properties = schema.get("minProperties"), schema.get("maxProperties")
    node.required = tuple(schema.get("required") or ())
    node.list_type = schema.get("x-kubernetes-list-type") or ""
    node.keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    node.map_type = schema.get("x-kubernetes-map-type") or ""
    node.preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    node.embedded = bool(schema.get("x-kubernetes-embedded-resource"))


def walked(
    value: Any, node: Node, follows: Callable[[Node], bool], path: str = ""
) -> Iterator[tuple[Any, Node, str]]:
    """A value and what is below it, each with its node and its path, outer ones first. Values whose node
    `follows` refuses are left out."""
    yield value, node, path
    if type(value) is dict:
        for key, inner in value.items():
            child, where = node.properties.get(key), f"{path}.{key}" if path else key
            if child is None:
                child, where = node.additional, f"{path}[{key}]"
            if child is not None and follows(child):
                yield from walked(inner, child, follows, where)
    elif type(value) is list and node.items is not None and follows(node.items):
        for index, item in enumerate(value):
            yield from walked(item, node.items, follows, f"{path}[{index}]")


def _summarise(node: Node) -> None:
    """Computes once what would otherwise be computed for every value."""
    inside = node.children()
    node.defaulted = tuple((name, n) for name, n in node.properties.items() if n.default is not ABSENT)
    node.defaults_below = any(n.defaults_below or n.default is not ABSENT for n in inside)
    node.lists_below = node.list_type in ("set", "map") or any(n.lists_below for n in inside)
    node.embeds_below = node.embedded or any(n.embeds_below for n in inside)
    limits = (node.enum, node.min_properties, node.max_properties)
    node.judges_members_alone = (
        node.open and not node.composed and limits == (None, None, None) and node.types in ((), ("object",))
    )
    if node.composed or node.enum is not None or node.accepts is None:
        return
    node.plain = node.accepts & {bool}
    ruled = node.format_check or node.pattern or node.min_length is not None or node.max_length is not None
    if not ruled:
        node.plain |= node.accepts & {str}
    if node.types == ("integer",) and (node.multiple_of, node.minimum, node.maximum) == (None, None, None):
        node.integers = INT_RANGES.get(node.format, INT64)
