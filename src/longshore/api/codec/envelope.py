"""The envelope around every protobuf object, and the frames of protobuf watch streams.

`k8s\\0`, then 1 = {1 apiVersion, 2 kind}, 2 = the object's bytes, 3 = content encoding, 4 = content
type. A watch frame is a four-byte length and a WatchEvent whose object is such an envelope.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from longshore.api.codec import protowire, protowrite
from longshore.api.codec.decoded import DecodeError
from longshore.api.codec.protokept import Kept
from longshore.api.types import Obj

PREFIX: Final = b"k8s\x00"
_NO_ENCODING: Final = b"\x1a\x00\x22\x00"
_RAW, _OBJECT = protowire.heads(1), protowire.heads(2)


class Envelope(NamedTuple):
    """An object's bytes and what kind they say they are."""

    api_version: str
    kind: str
    raw: bytes


def open_envelope(data: bytes) -> Envelope:
    """Takes an object out of its envelope; DecodeError if there is none."""
    if not data:
        raise DecodeError("empty data")
    if not data.startswith(PREFIX):
        raise DecodeError(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    if data == PREFIX:
        raise DecodeError("empty body")
    names = {1: "", 2: ""}
    raw = b""
    for number, content in protowire.fields(data, len(PREFIX), len(data)):
        if not isinstance(content, tuple):
            continue
        if number == 1:
            for name, span in protowire.fields(data, *content):
                if name in names and isinstance(span, tuple):
                    names[name] = str(data[span[0] : span[1]], "utf-8", "replace")
        elif number == 2:
            raw = data[content[0] : content[1]]
    return Envelope(names[1], names[2], raw)


def encode_protobuf(obj: Obj, api_version: str, kind: str, message: str, kept: Kept | None = None) -> bytes:
    """A canonical object (or list) in its envelope; `kept` as for `protowrite.write`."""
    return enveloped(protowrite.write(message, obj, kept), api_version, kind)


def enveloped(message: bytes, api_version: str, kind: str) -> bytes:
    """A written object in its envelope."""
    return b"".join((_heads(api_version, kind)[len(message)], message, _NO_ENCODING))


@lru_cache(maxsize=256)
def _heads(api_version: str, kind: str) -> protowire.Heads:
    """All in front of an object, by its length."""
    type_meta = protowire.delimited(1, api_version.encode()) + protowire.delimited(2, kind.encode())
    return protowire.Heads(PREFIX + protowire.delimited(1, type_meta) + protowire.tag(2, protowire.BYTES))


def watch_frame(event_type: str, obj: bytes) -> bytes:
    """One event of a protobuf watch stream; `obj` is an object in its envelope."""
    inner = _RAW[len(obj)]
    size = len(inner) + len(obj)
    outer = _OBJECT[size]
    type_ = _event_type(event_type)
    length = len(type_) + len(outer) + size
    return b"".join((length.to_bytes(4, "big"), type_, outer, inner, obj))


@lru_cache(maxsize=8)
def _event_type(name: str) -> bytes:
    return protowire.delimited(1, name.encode())


def read_watch_frames(data: bytes) -> list[tuple[str, bytes]]:
    """The (type, enveloped object) of every whole frame in `data`."""
    out = []
    at = 0
    while at + 4 <= len(data):
        stop = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if stop > len(data):
            break
        event_type, obj = "", b""
        for number, content in protowire.fields(data, at + 4, stop):
            if isinstance(content, tuple) and number == 1:
                event_type = data[content[0] : content[1]].decode()
            elif isinstance(content, tuple) and number == 2:
                for inner, span in protowire.fields(data, *content):
                    if inner == 1 and isinstance(span, tuple):
                        obj = data[span[0] : span[1]]
        out.append((event_type, obj))
        at = stop
    return out
