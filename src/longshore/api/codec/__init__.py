"""JSON, YAML and protobuf in and out, checked by the schema table.

Reading gives objects in canonical form, so that everything behind the codec can compare objects as
plain values. A valid JSON body takes the compiled path; everything else is read exactly as Go reads
it, to the wording of the error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from longshore.api import schema
from longshore.api.codec import canonical, compiled, typemeta
from longshore.api.codec.decoded import Decoded, DecodeError, Plain
from longshore.api.codec.jsontext import plain_json, tree
from longshore.api.codec.walk import Walk
from longshore.api.types import Obj

__all__ = [
    "DecodeError",
    "Decoded",
    "Document",
    "Plain",
    "decode",
    "decode_json",
    "decode_yaml",
    "from_value",
    "plain_json",
    "plain_yaml",
    "read_json",
    "read_yaml",
    "zero",
]


@dataclass(slots=True)
class Document:
    """A parsed document that has not been read as any kind yet."""

    node: Any
    problems: list[str] = field(default_factory=list)

    def interpret(self) -> tuple[str, str]:
        """apiVersion and kind, empty where missing; DecodeError if it is no object."""
        return typemeta.interpret(self.node)


def read_json(raw: bytes) -> Document:
    """Parses JSON; DecodeError on bad syntax."""
    return Document(tree(raw))


def read_yaml(raw: bytes) -> Document:
    """Parses the first document of a YAML stream; DecodeError on bad syntax."""
    plain = plain_yaml(raw)
    return Document(plain.value, plain.problems)


def plain_yaml(raw: bytes) -> Plain:
    """The first document of a YAML stream as plain values, with duplicate keys reported."""
    # Few clients send YAML; the parser is imported when the first one does.
    from longshore.api.codec import yamltext

    return yamltext.plain_yaml(raw)


def decode(document: Document, message: str) -> Decoded:
    """Reads a parsed document as `message`, exactly."""
    api_version, kind = document.interpret()
    walk = Walk()
    stored = walk.document(document.node, schema.message(message))
    decoded = _decoded(canonical.render(message, stored), message)
    return Decoded(api_version, kind, decoded.obj, document.problems + walk.problems)


def decode_json(raw: bytes, message: str) -> Decoded:
    """Reads a JSON body as `message`."""
    obj = compiled.from_json(raw, message)
    return decode(read_json(raw), message) if obj is None else _decoded(obj, message)


def decode_yaml(raw: bytes, message: str) -> Decoded:
    """Reads a YAML body as `message`."""
    document = read_yaml(raw)
    decoded = from_value(document.node, message)
    decoded.problems[:0] = document.problems
    return decoded


def from_value(value: Any, message: str) -> Decoded:
    """Reads an already parsed document, e.g. the result of a patch. Problems come sorted by key."""
    obj = compiled.from_value(value, message)
    return decode(Document(value), message) if obj is None else _decoded(obj, message)


def zero(message: str) -> Obj:
    """The object Kubernetes writes when nothing is set, as in a bookmark."""
    return canonical.render(message, {})


def _decoded(obj: Obj, message: str) -> Decoded:
    if not schema.message(message).is_kind:
        return Decoded("", "", obj)
    return Decoded(obj.pop("apiVersion", ""), obj.pop("kind", ""), obj)
