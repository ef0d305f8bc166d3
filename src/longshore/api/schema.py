"""The shape of every built-in kind, read from tables of facts in `api/data/`.

One table serves many uses: codecs, unknown-field checks, both merge algorithms, OpenAPI. Tables are
read on first use and each message is built on first use, so importing this costs nothing and a
process pays only for the kinds it touches. All files named in `TABLES` are read as one table; a file
that is not there is skipped, so a group of kinds can be left out of a build.

Two facts about wire types are left out of the tables on purpose: they follow from the type, and the
published tags are wrong for a few fields (`propagationPolicy` is a string, not a varint).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

TABLES: Final = ("kubernetes.json", "volcano-types.json")
SCALARS: Final = frozenset(("string", "bool", "int32", "int64", "float64", "bytes"))

TypeKind = Literal["scalar", "special", "message", "list", "map"]


class Type(msgspec.Struct, frozen=True):
    """The type of a field. `element` is set for lists and maps (map keys are always strings)."""

    kind: TypeKind
    name: str
    """The table's text: `int32`, `Quantity`, `core/v1.Container`, `list<core/v1.Container>`.
    Specials are Time, MicroTime, Quantity, IntOrString, FieldsV1, RawExtension, Duration, Verbs, JSON
    and the JSONSchemaPropsOr… unions of apiextensions."""
    element: Type | None = None

    @property
    def items(self) -> Type:
        """The element type of a list or map."""
        assert self.element is not None, self.name
        return self.element


class _Declared(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The part of a field that is the same in the table and in the program."""

    json: str = ""
    number: int = 0
    """Protobuf field number; 0 where the kind has no protobuf form."""
    required: bool = False
    optional: bool = False
    """A pointer in Go: unset is not the same as zero."""
    omitempty: bool = False
    inline: bool = False
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    patch_merge_key: str = ""
    enum: tuple[str, ...] = ()


class Field(_Declared, frozen=True, kw_only=True):
    """One field. An inline field has an empty `json` name: its message's fields stand in the parent."""

    type: Type
    patch_strategies: tuple[str, ...] = ()
    go_type: str = ""
    """The Go type where it has a name of its own, e.g. `v1.RestartPolicy`; needed for error texts."""


class Message(msgspec.Struct, frozen=True, dict=True):
    """One structure. `own` are the fields as declared, `fields` by JSON name with inlined ones in place."""

    id: str
    own: tuple[Field, ...]
    map_type: str = ""
    unions: tuple[Mapping[str, Any], ...] = ()
    is_kind: bool = False
    """Whether the message has apiVersion and kind, which are not among its fields."""
    fields: dict[str, Field] = msgspec.field(default_factory=dict)

    @cached_property
    def go_name(self) -> str:
        """`v1.JobSpec`, the name in Go's type errors."""
        return ".".join(self.id.rpartition("/")[2].split(".")[-2:])

    @cached_property
    def name(self) -> str:
        """`JobSpec`."""
        return self.id.rpartition(".")[2]

    @cached_property
    def by_number(self) -> dict[int, Field]:
        """Declared fields by protobuf number."""
        return {f.number: f for f in self.own if f.number}


class _Table(msgspec.Struct):
    kinds: dict[str, str]
    messages: dict[str, msgspec.Raw]


class _RawField(_Declared, frozen=True, kw_only=True, rename="camel"):
    type: str
    patch_strategy: str = ""
    go: str = ""


class _RawMessage(msgspec.Struct, rename="camel"):
    fields: list[_RawField]
    map_type: str = ""
    unions: list[dict[str, Any]] = []


@cache
def _table() -> _Table:
    whole = _Table({}, {})
    decoder = msgspec.json.Decoder(_Table)
    folder = Path(__file__).parent / "data"
    for name in TABLES:
        file = folder / name
        if file.is_file():
            part = decoder.decode(file.read_bytes())
            whole.kinds.update(part.kinds)
            whole.messages.update(part.messages)
    return whole


@cache
def _kind_messages() -> frozenset[str]:
    return frozenset(_table().kinds.values())


def kinds() -> Mapping[str, str]:
    """Message ids by `"<apiVersion> <Kind>"`."""
    return _table().kinds


def message_for(api_version: str, kind: str) -> str | None:
    """The message id of a kind; None for a kind in no table."""
    return _table().kinds.get(f"{api_version} {kind}")


def has(message_id: str) -> bool:
    """Whether a table describes this message."""
    return message_id in _table().messages


@cache
def message(message_id: str) -> Message:
    """The message of this id; KeyError when no table describes it."""
    raw = msgspec.json.decode(_table().messages[message_id], type=_RawMessage)
    own = tuple(
        Field(
            type=parse_type(f.type),
            patch_strategies=tuple(f.patch_strategy.split(",")) if f.patch_strategy else (),
            go_type=f.go,
            **{name: getattr(f, name) for name in _Declared.__struct_fields__},
        )
        for f in raw.fields
    )
    flat: dict[str, Field] = {}
    for f in own:
        if f.inline:
            # A field of the outer message hides one of the same name inside, as in Go.
            flat.update((k, v) for k, v in message(f.type.name).fields.items() if k not in flat)
        else:
            flat[f.json] = f
    return Message(
        id=message_id,
        own=own,
        map_type=raw.map_type,
        unions=tuple(raw.unions),
        is_kind=message_id in _kind_messages(),
        fields=flat,
    )


@cache
def parse_type(text: str) -> Type:
    """Reads `int32`, `list<…>`, `map<string,…>`, a special name or a message id."""
    if text.startswith("list<"):
        return Type("list", text, parse_type(text[5:-1]))
    if text.startswith("map<"):
        return Type("map", text, parse_type(text[4:-1].partition(",")[2]))
    if text in SCALARS:
        return Type("scalar", text)
    return Type("message" if "." in text else "special", text)
