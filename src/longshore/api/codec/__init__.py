"""JSON, YAML and protobuf in and out, checked by the schema table.

Reading gives objects in canonical form, so that everything behind the codec can compare objects as
plain values. A valid JSON body takes the compiled path; everything else is read exactly as Go reads
it, to the wording of the error.

`decode_json` reads a body as a known message. If the kind is not known yet, `read_*` parses the body,
`interpret` finds its kind, and then the document is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from longshore.api import schema
from longshore.api.codec import canonical, compiled, jsontext, protoread, protowire, protowrite
from longshore.api.codec.decoded import Decoded, DecodeError, Plain
from longshore.api.codec.envelope import (
    Envelope,
    encode_protobuf,
    enveloped,
    named_kind,
    open_envelope,
    read_watch_frames,
    watch_frame,
)
from longshore.api.codec.jsontext import MAX_PROBLEMS, plain_json
from longshore.api.codec.protowrite import Kept
from longshore.api.codec.walk import Walk
from longshore.api.types import Obj, encode

__all__ = [
    "MAX_PROBLEMS",
    "DecodeError",
    "Decoded",
    "Document",
    "Kept",
    "Plain",
    "decode_json",
    "encode_document",
    "encode_frozen",
    "encode_list",
    "encode_protobuf",
    "encode_watch_event",
    "encode_yaml",
    "from_value",
    "named_kind",
    "plain_json",
    "plain_yaml",
    "quick_json",
    "read_json",
    "read_protobuf",
    "read_watch_frames",
    "read_yaml",
    "watch_frame",
    "zero",
]


class Document(Protocol):
    """A parsed body that has not been read as any kind yet."""

    def interpret(self) -> tuple[str, str]:
        """apiVersion and kind, empty where missing; DecodeError if it is no object."""

    def decode(self, message: str) -> Decoded:
        """Reads it as `message`; DecodeError if it does not fit."""


class _TextDocument(msgspec.Struct):
    node: Any
    problems: list[str] = msgspec.field(default_factory=list)

    def interpret(self) -> tuple[str, str]:
        return named_kind(self.node)

    def decode(self, message: str) -> Decoded:
        api_version, kind = self.interpret()
        walk = Walk()
        stored = walk.document(self.node, schema.message(message))
        obj = _split(canonical.render(message, stored), message).obj
        return Decoded(api_version, kind, obj, self.problems + walk.problems)


class _ProtobufDocument(msgspec.Struct):
    envelope: Envelope

    def interpret(self) -> tuple[str, str]:
        return self.envelope.api_version, self.envelope.kind

    def decode(self, message: str) -> Decoded:
        raw = self.envelope.raw
        try:
            stored = protoread.read(message, raw, 0, len(raw), {})
            # The compiled structs also drop the zeros that protobuf carries along.
            obj = compiled.from_value(stored, message) or canonical.render(message, stored)
            too_deep = not jsontext.is_shallow(encode(obj))
        except RecursionError:
            too_deep = True
        if too_deep:
            raise DecodeError(jsontext.TOO_DEEP)
        return Decoded(self.envelope.api_version, self.envelope.kind, obj)


def read_json(raw: bytes) -> Document:
    """Parses JSON; DecodeError on bad syntax."""
    return _TextDocument(jsontext.tree(raw))


def read_yaml(raw: bytes) -> Document:
    """Parses the first document of a YAML stream; DecodeError on bad syntax."""
    plain = plain_yaml(raw)
    return _TextDocument(plain.value, plain.problems)


def read_protobuf(raw: bytes) -> Document:
    """Opens a protobuf envelope; DecodeError if it is none."""
    return _ProtobufDocument(open_envelope(raw))


def plain_yaml(raw: bytes) -> Plain:
    """The first document of a YAML stream as plain values, with duplicate keys reported."""
    # Few clients send YAML; the parser is imported when the first one does.
    from longshore.api.codec import yamltext

    return yamltext.plain_yaml(raw)


def quick_json(raw: bytes, message: str) -> Decoded | None:
    """Reads a JSON body in the compiled way; None if the body needs the exact reading."""
    obj = compiled.from_json(raw, message)
    return None if obj is None else _split(obj, message)


def decode_json(raw: bytes, message: str) -> Decoded:
    """Reads a JSON body as `message`."""
    return quick_json(raw, message) or read_json(raw).decode(message)


def from_value(value: Any, message: str) -> Decoded:
    """Reads an already parsed document, e.g. the result of a patch. Problems come sorted by key."""
    obj = compiled.from_value(value, message)
    return _TextDocument(value).decode(message) if obj is None else _split(obj, message)


def encode_document(document: Obj) -> bytes:
    """A whole answer, with apiVersion and kind, as protobuf. KeyError for a kind in no schema table."""
    api_version, kind = document["apiVersion"], document["kind"]
    return encode_protobuf(document, api_version, kind, schema.kinds()[f"{api_version} {kind}"])


def encode_frozen(obj: Obj, api_version: str, kind: str, kept: Kept) -> bytes:
    """A stored object as protobuf. Parts that `kept` has are not encoded again."""
    return encode_protobuf(obj, api_version, kind, schema.kinds()[f"{api_version} {kind}"], kept)


def encode_list(metadata: Obj, items: Iterable[Obj], api_version: str, kind: str) -> bytes:
    """A list as protobuf, its items written one by one: all lists have 1 = metadata, 2 = an item."""
    message = schema.message(schema.kinds()[f"{api_version} {kind}"])
    item = message.fields["items"].type.items.name
    written = protowire.delimited(1, protowrite.write(message.fields["metadata"].type.name, metadata))
    parts = [protowire.delimited(2, protowrite.write(item, each)) for each in items]
    return enveloped(written + b"".join(parts), api_version, kind)


def encode_watch_event(event_type: str, document: Obj) -> bytes:
    """One frame of a protobuf watch stream."""
    return watch_frame(event_type, encode_document(document))


def encode_yaml(document: Obj) -> bytes:
    """A whole answer as YAML."""
    from longshore.api.codec import yamltext

    return yamltext.encode_yaml(document)


def zero(message: str) -> Obj:
    """The object Kubernetes writes when nothing is set, as in a bookmark."""
    return canonical.render(message, {})


def _split(obj: Obj, message: str) -> Decoded:
    """Takes apiVersion and kind out of an object of a kind."""
    if not schema.message(message).is_kind:
        return Decoded("", "", obj)
    return Decoded(obj.pop("apiVersion", ""), obj.pop("kind", ""), obj)
