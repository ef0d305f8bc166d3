"""Canonical objects to protobuf, byte for byte as Kubernetes writes them.

Fields go in the order of their numbers; plain strings, numbers and structs are written even when
empty, pointers only when set, map entries sorted by key.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

from longshore.api import schema
from longshore.api.codec import gobase64, protowire
from longshore.api.schema import Field, Type
from longshore.api.time import durations, rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj, encode

_Write = Callable[[Any], bytes]
_SCHEMA: Final = "apiextensions/v1.JSONSchemaProps"
_NO_TEXT: Final = b"\x00"


def write(message_id: str, obj: Obj) -> bytes:
    """The bytes of a message."""
    return b"".join([one(obj) for one in _writers(message_id)])


@cache
def _writers(message_id: str) -> tuple[Callable[[Obj], bytes], ...]:
    own = sorted((f for f in schema.message(message_id).own if f.number), key=lambda f: f.number)
    return tuple(_field(f) for f in own)


def _field(f: Field) -> Callable[[Obj], bytes]:
    if f.inline:
        return partial(_inline, protowire.tag(f.number, protowire.BYTES), f.type.name)
    if f.type.kind == "list":
        return partial(_list, f.json, _tagged(f.number, f.type.items))
    if f.type.kind == "map":
        return partial(_map, f.json, protowire.tag(f.number, protowire.BYTES), _map_value(f.type.items))
    write_one = _tagged(f.number, f.type)
    absent = b""
    if not f.optional and f.type.name not in ("bytes", "Verbs"):
        absent = protowire.tag(f.number, _wire(f.type)) + _zero(f.type)
    return partial(_single, f.json, write_one, absent)


def _inline(tag: bytes, message_id: str, obj: Obj) -> bytes:
    data = write(message_id, obj)
    return tag + protowire.varint(len(data)) + data


def _list(name: str, one: _Write, obj: Obj) -> bytes:
    return b"".join([one(item) for item in obj.get(name) or ()])


def _map(name: str, tag: bytes, value: _Write, obj: Obj) -> bytes:
    out = []
    for key, item in sorted((obj.get(name) or {}).items()):
        entry = protowire.delimited(1, key.encode()) + value(item)
        out.append(tag + protowire.varint(len(entry)) + entry)
    return b"".join(out)


def _map_value(kind: Type) -> _Write:
    return partial(_map_list) if kind.kind == "list" else _tagged(2, kind)


def _map_list(items: Any) -> bytes:
    return protowire.delimited(2, _wrapped_list(items or ()))


def _single(name: str, one: _Write, absent: bytes, obj: Obj) -> bytes:
    value = obj.get(name)
    return absent if value is None else one(value)


def _wire(kind: Type) -> int:
    if kind.name in ("bool", "int32", "int64"):
        return protowire.VARINT
    return protowire.FIXED64 if kind.name == "float64" else protowire.BYTES


def _zero(kind: Type) -> bytes:
    """The bytes of an unset plain field, after its tag."""
    if kind.kind == "message":
        data = write(kind.name, {})
    else:
        data = _UNSET.get(kind.name, b"")
        if _wire(kind) == protowire.VARINT:
            return _NO_TEXT
    return protowire.varint(len(data)) + data


def _tagged(number: int, kind: Type) -> _Write:
    """Writes tag and value."""
    tag = protowire.tag(number, _wire(kind))
    if kind.name == "float64":
        return lambda value: tag + struct.pack("<d", value)
    if kind.name in ("bool", "int32", "int64"):
        return lambda value: tag + protowire.varint(value)
    content: _Write = partial(write, kind.name) if kind.kind == "message" else _CONTENT[kind.name]
    return partial(_delimited, tag, content)


def _delimited(tag: bytes, content: _Write, value: Any) -> bytes:
    data = content(value) if value is not None else b""
    return tag + protowire.varint(len(data)) + data


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
