"""Writes canonical objects as protobuf, byte for byte as Kubernetes does.

Fields go in the order of their numbers; plain strings, numbers and structs are written even when
empty, pointers only when set, map entries sorted by key. The code of each message is generated from the
schema table on first use: one `if` a field, without a call for most of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import count
from typing import Any, Final, TypeAlias

from longshore.api import schema
from longshore.api.codec import gobase64, protowire
from longshore.api.schema import Field, Type
from longshore.api.time import durations, rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj, encode

# ---- Parts of objects that were written as protobuf lately, so that they need not be written again.
#
# A part is known by the very dict it is. That holds for frozen objects alone: their parts are shared between
# the states of an object, and between objects of one template, and do not change. A kept part is held, so
# no other dict can have its identity meanwhile.

_MAX_PARTS: Final = 2048
_MAX_PART_BYTES: Final = 8192  # with both generations full of such parts: 32 MB


class Kept(dict[int, tuple[Any, bytes]]):
    """The bytes of parts written lately, by the part's identity, in two generations. A full table becomes the
    older generation; the former older one is dropped.

    A dict, because a part is looked up five times for an object.
    """

    __slots__ = ("_old",)

    def __init__(self) -> None:
        self._old: dict[int, tuple[Any, bytes]] = {}

    def older(self, part: Any) -> bytes | None:
        """The bytes of this part, if it is in the older generation."""
        found = self._old.get(id(part))
        return None if found is None else found[1]

    def put(self, part: Any, data: bytes) -> None:
        """Keeps the bytes of a part."""
        if len(data) > _MAX_PART_BYTES:
            return
        if len(self) >= _MAX_PARTS:
            self._old = dict(self)
            self.clear()
        self[id(part)] = part, data


_Write: TypeAlias = Callable[[Any], bytes]
_Message: TypeAlias = Callable[[Obj, Kept | None], bytes]
_SCHEMA: Final = "apiextensions/v1.JSONSchemaProps"
_NO_NUMBER: Final = b"\x00"
_SHORT_NUMBERS: Final = 128
"""Numbers below this take one byte, and are ready-made with their tags."""
_KEPT_MESSAGES: Final = frozenset(
    ("batch/v1.JobSpec", "core/v1.PodSpec", "meta/v1.ManagedFieldsEntry", "meta/v1.OwnerReference")
)
"""Messages that recur as the same dict, in the next state of an object or in many objects."""
_RECURRING: Final = frozenset(
    ("apiVersion", "fieldsType", "kind", "manager", "namespace", "operation", "phase", "qosClass", "reason",
     "status", "subresource", "type")
)  # fmt: skip
"""Fields whose texts recur in many objects. The texts are cached, as times are: 25 ns instead of 110."""
_MAX_RECURRING: Final = 512
_MAX_RECURRING_BYTES: Final = 128


def write(message_id: str, obj: Obj, kept: Kept | None = None) -> bytes:
    """The bytes of a message. With `kept`, which is for frozen objects only, known parts are not encoded
    again."""
    return _WRITERS[message_id](obj, kept)


class _Writers(dict[str, _Message]):
    """The compiled writers by message, each made when it is first asked for."""

    def __missing__(self, message_id: str) -> _Message:
        made = self[message_id] = _Source(message_id).compiled()
        return made


_WRITERS: Final = _Writers()


class _Source:
    """The source of one message's writer, and the constants it uses.

    In the code `o` is the object, `k` the kept parts, `a` takes bytes, `v` and `e` are a value and its bytes.
    """

    def __init__(self, message_id: str) -> None:
        self._names = (f"c{number}" for number in count())
        self._globals: dict[str, Any] = {"varint": protowire.varint, "W": _WRITERS}
        self._lines = ["def write(o, k):", " g = o.get", " out = []", " a = out.append"]
        own = (f for f in schema.message(message_id).own if f.number)
        for each in sorted(own, key=lambda f: f.number):
            self._field(each)
        self._lines.append(" return b''.join(out)")
        self._id = message_id

    def compiled(self) -> _Message:
        exec(compile("\n".join(self._lines), f"<protobuf writer of {self._id}>", "exec"), self._globals)
        made: _Message = self._globals["write"]
        return made

    def _constant(self, value: Any) -> str:
        name = next(self._names)
        self._globals[name] = value
        return name

    def _add(self, indent: int, *lines: str) -> None:
        self._lines += [" " * indent + line for line in lines]

    def _field(self, f: Field) -> None:
        if f.inline:
            self._add(1, f"e = W[{f.type.name!r}](o, k)")
            self._delimited(1, f.number)
            return
        self._add(1, f"v = g({f.json!r})")
        if f.type.kind == "list":
            self._add(1, "if v:", " for v in v:")
            self._value(3, f.json, f.number, f.type.items, may_be_none=True)
        elif f.type.kind == "map":
            entries = self._constant(_map_writer(f.number, f.type.items))
            self._add(1, "if v:", f" a({entries}(v, k))")
        else:
            self._add(1, "if v is not None:")
            self._value(2, f.json, f.number, f.type, may_be_none=False)
            if not f.optional and f.type.name not in ("bytes", "Verbs"):
                absent = self._constant(protowire.tag(f.number, _wire(f.type)) + _zero(f.type))
                self._add(1, f"else: a({absent})")

    def _value(self, indent: int, name: str, number: int, kind: Type, *, may_be_none: bool) -> None:
        """Adds code that writes tag and value of `v`. An element of a list may be null (`may_be_none`)."""
        tag = protowire.tag(number, _wire(kind))
        if kind.name == "float64":
            self._add(indent, f"a({self._constant(struct.Struct(f'<{len(tag)}sd').pack)}({tag!r}, v))")
            return
        if _wire(kind) == protowire.VARINT:
            small = self._constant([tag + protowire.varint(n) for n in range(_SHORT_NUMBERS)])
            self._add(
                indent, f"a({small}[v] if 0 <= v < {_SHORT_NUMBERS} else {self._constant(tag)} + varint(v))"
            )
            return
        if kind.name == "Time" or (name in _RECURRING and kind.name == "string"):
            whole = self._constant(_Recurring(number, _CONTENT[kind.name]))
            absent = f"{protowire.delimited(number, b'')!r} if v is None else " if may_be_none else ""
            self._add(indent, f"a({absent}{whole}[v])")
            return
        if kind.kind == "message":
            content = f"W[{kind.name!r}](v, k)"
        elif kind.name == "string":
            content = "v.encode()"
        else:
            content = f"{self._constant(_CONTENT[kind.name])}(v)"
        if may_be_none:
            content = f"b'' if v is None else {content}"
        if kind.name in _KEPT_MESSAGES:
            self._add(
                indent,
                "e = k.get(id(v)) if k is not None else None",
                "if e is not None: e = e[1]",
                "else:",
                " e = k.older(v) if k is not None else None",
                " if e is None:",
                f"  e = {content}",
                "  if k is not None: k.put(v, e)",
            )
        else:
            self._add(indent, f"e = {content}")
        self._delimited(indent, number)

    def _delimited(self, indent: int, number: int) -> None:
        """Adds code that writes tag, length and content of `e`."""
        heads = self._constant(protowire.heads(number))
        self._add(indent, f"a({heads}[len(e)] + e)")


class _Recurring(dict[str, bytes]):
    """The bytes of a field by its value, for values that recur in many objects."""

    __slots__ = ("_content", "_number")

    def __init__(self, number: int, content: _Write) -> None:
        self._number, self._content = number, content

    def __missing__(self, value: str) -> bytes:
        made = protowire.delimited(self._number, self._content(value))
        if len(self) >= _MAX_RECURRING:
            self.clear()
        if len(made) <= _MAX_RECURRING_BYTES:
            self[value] = made
        return made


def _map_writer(number: int, kind: Type) -> Callable[[Obj, Kept | None], bytes]:
    """Writes all entries of a map: 1 = key, 2 = value."""
    heads, keys = protowire.heads(number), protowire.heads(1)
    value = _map_value(kind)

    def write_map(entries: Obj, kept: Kept | None) -> bytes:
        if kept is not None:
            if (found := kept.get(id(entries))) is not None:
                return found[1]
            if (known := kept.older(entries)) is not None:
                return known
        out = []
        for key in sorted(entries):
            text = key.encode()
            entry = keys[len(text)] + text + value(entries[key])
            out.append(heads[len(entry)] + entry)
        data = b"".join(out)
        if kept is not None:
            kept.put(entries, data)
        return data

    return write_map


def _map_value(kind: Type) -> _Write:
    if kind.kind == "list":
        return lambda items: protowire.delimited(2, _wrapped_list(items or ()))
    if _wire(kind) == protowire.VARINT:
        return lambda value: b"\x10" + protowire.varint(value)
    if kind.kind == "message":
        return lambda value: protowire.delimited(2, b"" if value is None else write(kind.name, value))
    content, heads = _CONTENT[kind.name], protowire.heads(2)

    def write_value(value: Any) -> bytes:
        data = b"" if value is None else content(value)
        return heads[len(data)] + data

    return write_value


def _wire(kind: Type) -> int:
    if kind.name in ("bool", "int32", "int64"):
        return protowire.VARINT
    return protowire.FIXED64 if kind.name == "float64" else protowire.BYTES


def _zero(kind: Type) -> bytes:
    """The bytes of an unset plain field, after its tag."""
    if _wire(kind) == protowire.VARINT:
        return _NO_NUMBER
    data = write(kind.name, {}) if kind.kind == "message" else _UNSET.get(kind.name, b"")
    return protowire.varint(len(data)) + data


def _time(text: str) -> bytes:
    return _instant(rfc3339.parse(text) // SECOND, 0)


def _micro_time(text: str) -> bytes:
    return _instant(*divmod(rfc3339.parse_micro(text), SECOND))


def _instant(seconds: int, nanos: int) -> bytes:
    return b"\x08" + protowire.varint(seconds) + b"\x10" + protowire.varint(nanos)


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + protowire.delimited(3, value.encode())
    return b"\x08\x00\x10" + protowire.varint(value) + b"\x1a\x00"


def _json(value: Any) -> bytes:
    return protowire.delimited(1, encode(value))


def _wrapped_list(items: Any) -> bytes:
    return b"".join([protowire.delimited(1, item.encode()) for item in items])


def _schema_or_bool(value: Any) -> bytes:
    if isinstance(value, dict):
        return b"\x08\x01" + protowire.delimited(2, write(_SCHEMA, value))
    return b"\x08\x01" if value else b"\x08\x00"


def _schema_or_list(value: Any) -> bytes:
    if isinstance(value, dict):
        return protowire.delimited(1, write(_SCHEMA, value))
    return b"".join(
        protowire.delimited(2, item.encode() if isinstance(item, str) else write(_SCHEMA, item))
        for item in value
    )


_CONTENT: Final[dict[str, _Write]] = {
    "string": str.encode,
    "bytes": gobase64.decode,
    "Time": _time,
    "MicroTime": _micro_time,
    "Quantity": lambda text: protowire.delimited(1, text.encode()),
    "IntOrString": _int_or_string,
    "Duration": lambda text: b"\x08" + protowire.varint(durations.parse(text)),
    "FieldsV1": _json,
    "RawExtension": _json,
    "JSON": _json,
    "Verbs": _wrapped_list,
    "JSONSchemaPropsOrBool": _schema_or_bool,
    "JSONSchemaPropsOrArray": _schema_or_list,
    "JSONSchemaPropsOrStringArray": _schema_or_list,
}
_UNSET: Final = {"Quantity": b"\n\x010", "IntOrString": b"\x08\x00\x10\x00\x1a\x00", "Duration": b"\x08\x00"}
