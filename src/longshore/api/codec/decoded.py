"""The results of decoding, and its error."""

from __future__ import annotations

from typing import Any

import msgspec

from longshore.api.types import Obj


class DecodeError(ValueError):
    """The document cannot be read as the kind it should be; the message is Go's own."""


class Decoded(msgspec.Struct):
    """A document read as one kind.

    `obj` is the object as Kubernetes would write it back, without apiVersion and kind. apiVersion and kind
    are as in the document; empty if it leaves them out.
    """

    api_version: str
    kind: str
    obj: Obj
    problems: list[str] = msgspec.field(default_factory=list)
    """Findings of strict decoding, in Go's words and order: `unknown field "spec.foo"`. The findings
    of a YAML parser come as one text of several lines."""


class Plain(msgspec.Struct):
    """A document read without a schema."""

    value: Any
    problems: list[str] = msgspec.field(default_factory=list)
    """Duplicate keys, as in `Decoded.problems`."""
