"""Reads protobuf messages into the stored form, by the numbers in the schema table.

Each message gets a table from wire tag to reader on first use, so reading is one dict lookup a field.
Unknown fields are skipped, as protobuf wants it; apiVersion and kind are not part of a message, they
stand in the envelope.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final, TypeAlias

import msgspec

from longshore.api import quantity, schema
from longshore.api.codec import protowire
from longshore.api.codec.decoded import DecodeError
from longshore.api.schema import Field, Type
from longshore.api.time import durations, rfc3339
from longshore.api.time.instants import SECOND, ZERO, Instant
from longshore.api.types import Obj

_Bytes: TypeAlias = Callable[[bytes, int, int, Any], Any]
"""Reads data[start:stop]; the last argument is the value read so far, for messages to merge into."""
_Table: TypeAlias = dict[int, tuple[str, Any]]

_WIRE: Final = {
    "bool": protowire.VARINT,
    "int32": protowire.VARINT,
    "int64": protowire.VARINT,
    "float64": protowire.FIXED64,
}
_SCHEMA: Final = "apiextensions/v1.JSONSchemaProps"


def read(message_id: str, data: bytes, start: int, stop: int, out: Obj) -> Obj:
    """Reads data[start:stop] as a message into `out`."""
    table = _table(message_id)
    at = start
    while at < stop:
        key = data[at]
        at += 1
        if key >= 0x80:
            key, at = protowire.read_varint(data, at - 1, stop)
        entry = table.get(key)
        if entry is None:
            at = _unknown(message_id, key, data, at, stop)
            continue
        name, reader = entry
        kind = key & 7
        if kind == 2:
            # Most lengths and numbers take one byte; reading these here halves the time.
            if at < stop and data[at] < 0x80:
                begin = at + 1
                at = begin + data[at]
                if at > stop:
                    raise DecodeError(protowire.UNEXPECTED_EOF)
            else:
                begin, at = protowire.read_length(data, at, stop)
            if name:
                out[name] = reader(data, begin, at, out.get(name))
            else:
                read(reader, data, begin, at, out)
        elif kind == 0:
            if at < stop and data[at] < 0x80:
                number = data[at]
                at += 1
            else:
                number, at = protowire.read_varint(data, at, stop)
            reader(out, name, number)
        else:
            if at + 8 > stop:
                raise DecodeError(protowire.UNEXPECTED_EOF)
            out[name] = struct.unpack_from("<d", data, at)[0]
            at += 8
    return out


def _unknown(message_id: str, key: int, data: bytes, at: int, stop: int) -> int:
    number, kind = key >> 3, key & 7
    if number == 0:
        raise DecodeError(f"proto: {schema.message(message_id).name}: illegal tag 0 (wire type {key})")
    known = schema.message(message_id).by_number.get(number)
    if known is not None:
        name = known.json[:1].upper() + known.json[1:]
        raise DecodeError(f"proto: wrong wireType = {kind} for field {name}")
    return protowire.skip(data, at, stop, kind)


@cache
def _table(message_id: str) -> _Table:
    table: _Table = {}
    for f in schema.message(message_id).own:
        if f.number:
            table.update(_entries(f))
    return table


def _entries(f: Field) -> _Table:
    if f.inline:
        return {f.number << 3 | protowire.BYTES: ("", f.type.name)}
    if f.type.kind == "list" and f.type.items.name in _WIRE:
        # Kubernetes never packs repeated numbers, but a reader has to understand both forms.
        return {
            f.number << 3 | protowire.VARINT: (f.json, partial(_append_number, f.type.items.name)),
            f.number << 3 | protowire.BYTES: (f.json, partial(_packed, f.type.items.name)),
        }
    if f.type.name in _WIRE:
        return {f.number << 3 | _WIRE[f.type.name]: (f.json, _NUMBERS.get(f.type.name))}
    return {f.number << 3 | protowire.BYTES: (f.json, _bytes_reader(f.type))}


def _set_bool(out: Obj, name: str, number: int) -> None:
    out[name] = number != 0


def _set_int32(out: Obj, name: str, number: int) -> None:
    out[name] = _number("int32", number)


def _set_int64(out: Obj, name: str, number: int) -> None:
    out[name] = protowire.signed(number)


_NUMBERS: Final = {"bool": _set_bool, "int32": _set_int32, "int64": _set_int64}


def _number(kind: str, number: int) -> int:
    if kind == "int32":
        number &= 0xFFFF_FFFF
        return number - 2**32 if number >= 2**31 else number
    return protowire.signed(number)


def _append_number(kind: str, out: Obj, name: str, number: int) -> None:
    out.setdefault(name, []).append(_number(kind, number))


def _packed(kind: str, data: bytes, start: int, stop: int, old: Any) -> list[int]:
    out: list[int] = old or []
    while start < stop:
        number, start = protowire.read_varint(data, start, stop)
        out.append(_number(kind, number))
    return out


def _bytes_reader(kind: Type) -> _Bytes:
    match kind.kind:
        case "message":
            return partial(_message, kind.name)
        case "list":
            return partial(_append, _bytes_reader(kind.items))
        case "map":
            return partial(_entry, kind.items)
    return _READERS[kind.name]


def _message(message_id: str, data: bytes, start: int, stop: int, old: Any) -> Obj:
    return read(message_id, data, start, stop, {} if old is None else old)


def _append(one: _Bytes, data: bytes, start: int, stop: int, old: Any) -> list[Any]:
    out: list[Any] = [] if old is None else old
    out.append(one(data, start, stop, None))
    return out


def _entry(kind: Type, data: bytes, start: int, stop: int, old: Any) -> Obj:
    """Reads one entry of a map: field 1 is the key, field 2 the value."""
    out: Obj = {} if old is None else old
    key, value = "", None
    for number, content in protowire.fields(data, start, stop):
        if isinstance(content, tuple):
            if number == 1:
                key = _text(data, *content, None)
            elif number == 2 and kind.kind == "list":
                value = _wrapped_list(data, *content, None)
            elif number == 2:
                value = _bytes_reader(kind)(data, *content, value)
    out[key] = _EMPTY.get(kind.name) if value is None else value
    return out


_EMPTY: Final[dict[str, Any]] = {"string": "", "bytes": b""}


def _text(data: bytes, start: int, stop: int, old: Any) -> str:
    return str(data[start:stop], "utf-8", "replace")


def _raw(data: bytes, start: int, stop: int, old: Any) -> bytes:
    return data[start:stop]


def _instant(data: bytes, start: int, stop: int) -> Instant | None:
    if start == stop:
        return None
    content = {n: v for n, v in protowire.fields(data, start, stop) if isinstance(v, int)}
    instant = protowire.signed(content.get(1, 0)) * SECOND + int(_number("int32", content.get(2, 0)))
    if not rfc3339.can_write(instant):
        raise DecodeError("time: year outside of range [0,9999]")
    return instant


def _time(data: bytes, start: int, stop: int, old: Any) -> str | None:
    instant = _instant(data, start, stop)
    if instant is None or instant // SECOND == ZERO // SECOND:
        return None
    return rfc3339.from_instant(instant)


def _micro_time(data: bytes, start: int, stop: int, old: Any) -> str | None:
    instant = _instant(data, start, stop)
    return None if instant is None or instant == ZERO else rfc3339.micros_from_instant(instant)


def _quantity(data: bytes, start: int, stop: int, old: Any) -> str | None:
    out = None
    for number, content in protowire.fields(data, start, stop):
        if number == 1 and isinstance(content, tuple):
            try:
                out = quantity.canonical(_text(data, *content, None))
            except quantity.QuantityError as error:
                raise DecodeError(str(error)) from None
    return out


def _int_or_string(data: bytes, start: int, stop: int, old: Any) -> int | str:
    is_text, number, text = False, 0, ""
    for place, content in protowire.fields(data, start, stop):
        if isinstance(content, tuple):
            text = _text(data, *content, None) if place == 3 else text
        elif place == 1:
            is_text = content == 1
        elif place == 2:
            number = _number("int32", content)
    return text if is_text else number


def _duration(data: bytes, start: int, stop: int, old: Any) -> str:
    nanos = 0
    for number, content in protowire.fields(data, start, stop):
        if number == 1 and isinstance(content, int):
            nanos = protowire.signed(content)
    return durations.text(nanos)


def _json(data: bytes, start: int, stop: int, old: Any) -> Any:
    """Reads a RawExtension: field 1 has JSON bytes. Other fields cannot be shown as JSON."""
    out = None
    for number, content in protowire.fields(data, start, stop):
        if number == 1 and isinstance(content, tuple):
            try:
                out = msgspec.json.decode(data[content[0] : content[1]])
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                raise DecodeError(f"embedded document is not JSON: {error}") from None
    return out


def _wrapped_list(data: bytes, start: int, stop: int, old: Any) -> list[str]:
    """Reads a list that is itself an element: a message whose field 1 is repeated."""
    return [
        _text(data, *content, None)
        for number, content in protowire.fields(data, start, stop)
        if number == 1 and isinstance(content, tuple)
    ]


def _schema_or_bool(data: bytes, start: int, stop: int, old: Any) -> Any:
    allows: Any = False
    for number, content in protowire.fields(data, start, stop):
        if isinstance(content, tuple):
            if number == 2:
                return _message(_SCHEMA, data, *content, None)
        elif number == 1:
            allows = content != 0
    return allows


def _schema_or_list(element: _Bytes, data: bytes, start: int, stop: int, old: Any) -> Any:
    """Reads a schema (field 1), or the list that may stand in its place (field 2)."""
    out: list[Any] = []
    for number, content in protowire.fields(data, start, stop):
        if isinstance(content, tuple):
            if number == 1:
                return _message(_SCHEMA, data, *content, None)
            out.append(element(data, *content, None))
    return out


_READERS: Final[dict[str, _Bytes]] = {
    "string": _text,
    "bytes": _raw,
    "Time": _time,
    "MicroTime": _micro_time,
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "Duration": _duration,
    "FieldsV1": _json,
    "RawExtension": _json,
    "JSON": _json,
    "Verbs": _wrapped_list,
    "JSONSchemaPropsOrBool": _schema_or_bool,
    "JSONSchemaPropsOrArray": partial(_schema_or_list, partial(_message, _SCHEMA)),
    "JSONSchemaPropsOrStringArray": partial(_schema_or_list, _text),
}
