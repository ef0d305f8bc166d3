"""The OpenAPI 2 document as protobuf message `openapi.v2.Document`, the only form old kubectl reads.

Every message is a table from JSON key to field number and encoder. A key that begins with `x-` becomes a
vendor extension, whose value is YAML text (JSON is YAML).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from longshore.api.codec.protowire import FIXED64, VARINT, delimited, tag, varint
from longshore.api.types import Obj
from longshore.api.types import encode as to_json

Encoder = Callable[[int, Any], bytes]
"""From a field number and a JSON value to the field's bytes."""
Table = Mapping[str, tuple[int, Encoder]]


def encode(document: Obj) -> bytes:
    """The bytes of a whole document."""
    return _message(document, _DOCUMENT, 16)


def _text(number: int, value: str) -> bytes:
    return delimited(number, value.encode())


def _flag(number: int, value: bool) -> bytes:
    return _integer(number, 1) if value else b""


def _integer(number: int, value: int) -> bytes:
    return tag(number, VARINT) + varint(value)


def _double(number: int, value: float) -> bytes:
    return tag(number, FIXED64) + struct.pack("<d", value)


def _any(number: int, value: Any) -> bytes:
    return delimited(number, delimited(2, to_json(value)))


def _each(encoder: Encoder) -> Encoder:
    return lambda number, values: b"".join(encoder(number, value) for value in values)


def _named(encoder: Encoder, field: int = 1) -> Encoder:
    """A map: inside one message, repeated pairs of name and value."""

    def encode_map(number: int, entries: Mapping[str, Any]) -> bytes:
        pairs = (_text(1, name) + encoder(2, value) for name, value in entries.items())
        return delimited(number, b"".join(delimited(field, pair) for pair in pairs))

    return encode_map


def _inside(field: int, encoder: Encoder) -> Encoder:
    """A message with just one field, which holds the value."""
    return lambda number, value: delimited(number, encoder(field, value))


def _of(table: Callable[[], Table], vendor: int) -> Encoder:
    """The encoder of a message by its table. Tables refer to each other, so the table is looked up on use."""
    return lambda number, value: delimited(number, _message(value, table(), vendor))


def _message(value: Obj, table: Table, vendor: int) -> bytes:
    out = []
    for key, each in value.items():
        entry = table.get(key)
        if entry is not None:
            number, encoder = entry
            out.append(encoder(number, each))
        elif key.startswith("x-"):
            out.append(delimited(vendor, _text(1, key) + _any(2, each)))
    return b"".join(out)


def _additional(number: int, value: Obj | bool) -> bytes:
    return delimited(number, _flag(2, value) if isinstance(value, bool) else _schema(1, value))


def _type(number: int, value: str) -> bytes:
    return delimited(number, _text(1, value))


def _parameter(number: int, value: Obj) -> bytes:
    match value["in"]:
        case "body":
            inner = delimited(1, _message(value, _BODY, 6))
        case "path":
            inner = delimited(2, delimited(4, _message(value, _PATH_PARAMETER, 22)))
        case _:
            inner = delimited(2, delimited(3, _message(value, _QUERY_PARAMETER, 23)))
    return delimited(number, delimited(1, inner))


_schema: Final = _of(lambda: _SCHEMA, 31)

_SCHEMA: Final[Table] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _flag),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _flag),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "uniqueItems": (16, _flag),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _each(_text)),
    "enum": (20, _each(_any)),
    "additionalProperties": (21, _additional),
    "type": (22, _type),
    "items": (23, _inside(1, _schema)),
    "properties": (25, _named(_schema)),
    "example": (30, _any),
}
_BODY: Final[Table] = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _flag),
    "schema": (5, _schema),
}
_QUERY_PARAMETER: Final[Table] = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": (20, _flag),
}
_PATH_PARAMETER: Final[Table] = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "uniqueItems": (19, _flag),
}
_RESPONSE: Final[Table] = {"description": (1, _text), "schema": (2, _inside(1, _schema))}
_OPERATION: Final[Table] = {
    "tags": (1, _each(_text)),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _each(_text)),
    "consumes": (7, _each(_text)),
    "parameters": (8, _each(_parameter)),
    "responses": (9, _named(_inside(1, _of(lambda: _RESPONSE, 5)))),
    "schemes": (10, _each(_text)),
}
_operation: Final = _of(lambda: _OPERATION, 13)
_PATH_ITEM: Final[Table] = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _each(_parameter)),
}
_INFO: Final[Table] = {"title": (1, _text), "version": (2, _text)}
_API_KEY: Final[Table] = {
    "type": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "description": (4, _text),
}
_DOCUMENT: Final[Table] = {
    "swagger": (1, _text),
    "info": (2, _of(lambda: _INFO, 7)),
    "paths": (8, _named(_of(lambda: _PATH_ITEM, 10), field=2)),
    "definitions": (9, _named(_schema)),
    "security": (12, _each(_named(_inside(1, _each(_text))))),
    "securityDefinitions": (13, _named(_inside(2, _of(lambda: _API_KEY, 5)))),
}
