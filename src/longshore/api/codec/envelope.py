"""The envelope around every protobuf object, and the frames of protobuf watch streams.

`k8s\\0`, then 1 = {1 apiVersion, 2 kind}, 2 = the object's bytes, 3 = content encoding, 4 = content
type. A watch frame is a four-byte length and a WatchEvent whose object is such an envelope.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from longshore.api.codec import protowire, protowrite
from longshore.api.codec.decoded import DecodeError
from longshore.api.codec.jsontext import Pairs
from longshore.api.codec.protowrite import Kept
from longshore.api.types import Obj

PREFIX: Final = b"k8s\x00"
_NO_ENCODING: Final = b"\x1a\x00\x22\x00"
_RAW, _OBJECT = protowire.heads(1), protowire.heads(2)


class Envelope(NamedTuple):
    """An object's bytes and the kind they claim to be."""

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
    """The bytes before an object in its envelope, by the object's length."""
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


# ---- The kind that a document names, read before anything else, as in Kubernetes.
#
# Go looks for the two names without regard to case here, and only here.

_TARGET: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)
_NAMES: Final = {"apiversion": "apiVersion", "kind": "kind"}


def named_kind(node: Any) -> tuple[str, str]:
    """apiVersion and kind of a document tree or value; empty where it has none."""
    if node is None:
        return "", ""
    if not isinstance(node, Pairs | dict):
        raise DecodeError(f"json: cannot unmarshal {_word(node)} into Go value of type {_TARGET}")
    found = {"apiVersion": "", "kind": ""}
    wrong = ""
    members = sorted(node.items()) if isinstance(node, dict) else node
    for key, value in members:
        name = _NAMES.get(key.lower())
        if name is None or value is None:
            continue
        if type(value) is str:
            found[name] = value
        else:
            wrong = wrong or f"{_word(value)} into Go struct field .{name} of type string"
    if wrong:
        raise DecodeError(f"json: cannot unmarshal {wrong}")
    return found["apiVersion"], found["kind"]


def _word(node: Any) -> str:
    if isinstance(node, bool):
        return "bool"
    if type(node) is str:
        return "string"
    if isinstance(node, Pairs | dict):
        return "object"
    return "array" if isinstance(node, list) else "number"
