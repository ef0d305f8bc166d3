"""The protobuf wire format: varints, tags, and walking over the fields of a message."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from longshore.api.codec.decoded import DecodeError

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

UNEXPECTED_EOF: Final = "unexpected EOF"
_MAX_HEADS: Final = 2048
"""How many lengths are cached for each field."""


def varint(value: int) -> bytes:
    """A number as a varint. Negative numbers take ten bytes, as in every protobuf."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_ONE_BYTE: Final = [bytes((n,)) for n in range(0x80)]


def tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


class Heads(dict[int, bytes]):
    """The bytes before a field's content, by its length: a fixed prefix, and the length as a varint."""

    __slots__ = ("_first",)

    def __init__(self, first: bytes) -> None:
        self._first = first

    def __missing__(self, length: int) -> bytes:
        made = self._first + varint(length)
        if len(self) < _MAX_HEADS:
            self[length] = made
        return made


@cache
def heads(number: int) -> Heads:
    """Tags and lengths before the content of fields of bytes, text or a message with this number."""
    return Heads(tag(number, BYTES))


def delimited(number: int, data: bytes) -> bytes:
    """A field that holds bytes, text or a message."""
    return heads(number)[len(data)] + data


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number at `at` (unsigned) and where it ends."""
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift >= 64:
            raise DecodeError("proto: integer overflow")
    raise DecodeError(UNEXPECTED_EOF)


def read_length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The start and the end of the content of a length-delimited field."""
    if at < end and data[at] < 0x80:
        start = at + 1
        stop = start + data[at]
    else:
        length, start = read_varint(data, at, end)
        stop = start + length
    if stop > end:
        raise DecodeError(UNEXPECTED_EOF)
    return start, stop


def skip(data: bytes, at: int, end: int, wire: int) -> int:
    """The end of an unknown field."""
    if wire == VARINT:
        return read_varint(data, at, end)[1]
    if wire == BYTES:
        return read_length(data, at, end)[1]
    if wire not in (FIXED64, FIXED32):
        raise DecodeError(f"proto: illegal wireType {wire}")
    at += 8 if wire == FIXED64 else 4
    if at > end:
        raise DecodeError(UNEXPECTED_EOF)
    return at


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | tuple[int, int]]]:
    """(number, value) of every varint and length-delimited field; the latter as (start, stop)."""
    while at < end:
        key, at = read_varint(data, at, end)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(data, at, end)
            yield number, value
        elif wire == BYTES:
            start, at = read_length(data, at, end)
            yield number, (start, at)
        else:
            at = skip(data, at, end, wire)


def signed(value: int) -> int:
    """A varint read as a 64-bit signed number."""
    return value - 2**64 if value >= 2**63 else value
