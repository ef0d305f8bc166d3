"""Shapes of types for server-side apply: which parts are one leaf, which have an owner per member.

A shape is a scalar, a map (of named fields, of free keys, or both), a list (atomic, a set, or a map by keys),
or nothing known at all. Built-in kinds get theirs from the schema table (`shape_of`); custom kinds are put
together with the constructors here from their OpenAPI schema. Shapes are only data: `api/apply/` compares,
merges and checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from longshore.api import codec, schema
from longshore.api.resources import Resource
from longshore.api.types import Obj

ScalarType = Literal["string", "numeric", "boolean", "untyped"]
ListType = Literal["atomic", "set", "map"]
FieldSet: TypeAlias = dict[str, Any]
"""A set of field paths in the form of `fieldsV1`; see `api/apply/fieldset.py`."""


class Shape:
    """Any of the shapes below. `plan` belongs to `apply/compare.py`, which compiles shapes on first use."""

    __slots__ = ("plan",)

    def __init__(self) -> None:
        self.plan: Any = None


class ScalarShape(Shape):
    """One value. `untyped` takes any scalar (times, quantities, int-or-string)."""

    __slots__ = ("type",)

    def __init__(self, type_: ScalarType) -> None:
        super().__init__()
        self.type = type_


class MapShape(Shape):
    """A JSON object: `fields` by name, and `element` for all other keys (None if no others are allowed).

    An `atomic` map is a single leaf. `fields` may be a function, called on first use, so that types can
    contain themselves. An object without fields and without element is one whose content is unknown: give it
    `element=UNTYPED`, as OpenAPI means it.
    """

    __slots__ = ("_fields", "atomic", "element", "lasts", "resets", "zero")

    def __init__(
        self,
        fields: Mapping[str, Shape] | Callable[[], Mapping[str, Shape]] | None = None,
        *,
        element: Shape | None = None,
        atomic: bool = False,
    ) -> None:
        super().__init__()
        self._fields = fields if fields is not None else {}
        self.element = element
        self.atomic = atomic
        self.resets: Mapping[str, FieldSet] = {}
        """For a whole kind, by subresource ("" for the object itself): fields that a write never owns."""
        self.zero: Obj = {}
        """For a whole kind: the object from which a create starts, with Go's zero values for built-in kinds,
        empty for custom ones. Fields with an equal value here have no owner."""
        self.lasts = False
        """For a whole kind: whether the schema never changes, so that recorded fields always fit."""

    @property
    def fields(self) -> Mapping[str, Shape]:
        found = self._fields
        if callable(found):
            found = self._fields = found()
        return found


class ListShape(Shape):
    """A JSON array. `map` lists identify items by `keys`; `defaults` has the values of missing keys."""

    __slots__ = ("defaults", "element", "keys", "type")

    def __init__(
        self,
        element: Shape,
        type_: ListType = "atomic",
        *,
        keys: tuple[str, ...] = (),
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.element = element
        self.type: ListType = type_
        self.keys = tuple(sorted(keys))
        self.defaults: Mapping[str, Any] = defaults or {}


class UntypedShape(Shape):
    """Content without a schema: every map key has its own owner, a list is one leaf."""

    __slots__ = ()


STRING: Final = ScalarShape("string")
NUMERIC: Final = ScalarShape("numeric")
BOOLEAN: Final = ScalarShape("boolean")
ANY_SCALAR: Final = ScalarShape("untyped")
UNTYPED: Final = UntypedShape()


def custom_kind(fields: Mapping[str, Shape], *, status_apart: bool, element: Shape | None = None) -> MapShape:
    """The shape of a custom kind from the shapes of its own top-level fields (spec, status, ...).

    `status_apart` says whether it has a status subresource; `element` is UNTYPED for kinds that keep
    unknown top-level fields.
    """
    common = {"apiVersion": STRING, "kind": STRING, "metadata": shape_of_message("meta/v1.ObjectMeta")}
    whole = MapShape({**common, **{k: v for k, v in fields.items() if k not in common}}, element=element)
    whole.resets = {"": _STATUS, "status": {"f:spec": {}}} if status_apart else {}
    return whole


@cache
def shape_of_message(message_id: str) -> MapShape:
    """The shape of a schema message. KeyError when no table describes it."""
    message = schema.message(message_id)

    def fields() -> Mapping[str, Shape]:
        own: dict[str, Shape] = {"apiVersion": STRING, "kind": STRING} if message.is_kind else {}
        own.update((f.json, _of_field(message, f)) for f in message.fields.values())
        return own

    free = None if message.fields else UNTYPED
    whole = MapShape(fields, element=free, atomic=message.map_type == "atomic")
    if message.is_kind:
        whole.zero, whole.lasts = codec.zero(message_id), True
    return whole


def shape_of(resource: Resource) -> MapShape:
    """The shape of a resource whose kind is in the schema tables, with the fields its paths never own."""
    return _of_resource(resource.message, "status" in resource.subresources)


@cache
def _of_resource(message_id: str, status_apart: bool) -> MapShape:
    plain = shape_of_message(message_id)
    whole = MapShape(lambda: plain.fields)
    whole.zero, whole.lasts = plain.zero, plain.lasts
    if status_apart:
        status: FieldSet = {"f:spec": {}, **_STATUS_ALSO_RESETS.get(message_id, {})}
        whole.resets = {"": _STATUS, "status": status, "finalize": _STATUS, "resize": _STATUS}
    return whole


_STATUS: Final[FieldSet] = {"f:status": {}}
_STATUS_ALSO_RESETS: Final[Mapping[str, FieldSet]] = {
    "core/v1.Pod": {"f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
    "apiextensions/v1.CustomResourceDefinition": {"f:metadata": {}},
}

_SPECIALS: Final[Mapping[str, Shape]] = {
    "Time": ANY_SCALAR,
    "MicroTime": ANY_SCALAR,
    "Quantity": ANY_SCALAR,
    "IntOrString": ANY_SCALAR,
    "Duration": STRING,
}
_SCALARS: Final[Mapping[str, Shape]] = {
    "string": STRING,
    "bytes": STRING,
    "bool": BOOLEAN,
    "int32": NUMERIC,
    "int64": NUMERIC,
    "float64": NUMERIC,
}
# Zero values are a default of their own in the published schemas; these two are the only others
# among list keys (`+default` in the Go types).
_KEY_DEFAULTS: Final[Mapping[tuple[str, str], Any]] = {
    ("core/v1.ContainerPort", "protocol"): "TCP",
    ("core/v1.ServicePort", "protocol"): "TCP",
    ("core/v1.LocalObjectReference", "name"): "",
}


def _of_field(message: schema.Message, field: schema.Field) -> Shape:
    if field.type.kind == "list":
        if message.id.startswith("core/v1.EphemeralContainer"):
            # The table has no list types for them: they are published under Container alone.
            field = schema.message("core/v1.Container").fields.get(field.json, field)
        return _of_list(field)
    found = _of_type(field.type)
    if field.map_type and isinstance(found, MapShape):
        return MapShape(lambda: found.fields, element=found.element, atomic=field.map_type == "atomic")
    return found


def _of_list(field: schema.Field) -> ListShape:
    element = _of_type(field.type.items)
    if field.list_type == "set":
        return ListShape(element, "set")
    if field.list_type == "map":
        item = schema.message(field.type.items.name)
        defaults = {k: v for k in field.list_map_keys if (v := _key_default(item, k)) is not None}
        return ListShape(element, "map", keys=field.list_map_keys, defaults=defaults)
    return ListShape(element)


def _key_default(item: schema.Message, key: str) -> Any:
    field = item.fields[key]
    if (item.id, key) in _KEY_DEFAULTS:
        return _KEY_DEFAULTS[item.id, key]
    return None if field.omitempty or field.optional else _ZERO_SCALARS[field.type.name]


@cache
def _of_type(type_: schema.Type) -> Shape:
    if type_.kind == "message":
        return shape_of_message(type_.name)
    if type_.kind == "scalar":
        return _SCALARS[type_.name]
    if type_.kind == "special":
        return _SPECIALS.get(type_.name, UNTYPED)
    if type_.kind == "list":
        return ListShape(_of_type(type_.items))
    return MapShape(element=_of_type(type_.items))


_ZERO_SCALARS: Final[Mapping[str, Any]] = {"string": "", "bool": False, "int32": 0, "int64": 0}
