"""Reads a document as one kind exactly as Go does: field by field, null by null, word by word.

Go decodes into a struct that already has a value. So a duplicate key merges into the value of the first one,
and null has another meaning for pointers, lists and plain fields. A wrong type is remembered (the first one
is reported) while reading goes on; a value that a type reads by itself (a time, a quantity) ends the reading
at once. Both are errors; unknown and duplicate fields are not, they are listed as problems.

What comes out is the stored form: one dict per struct with the fields that were set. `canonical.py`
turns it into the JSON Kubernetes would write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from longshore.api import field as words
from longshore.api import quantity, schema
from longshore.api.codec import gobase64
from longshore.api.codec.decoded import DecodeError
from longshore.api.codec.jsontext import MAX_PROBLEMS, Number, Pairs, to_plain
from longshore.api.schema import Field, Message, Type
from longshore.api.time import durations, rfc3339
from longshore.api.types import Obj

_STRING: Final = schema.parse_type("string")
TYPE_META: Final = {
    "kind": Field(json="kind", type=_STRING, omitempty=True),
    "apiVersion": Field(json="apiVersion", type=_STRING, omitempty=True),
}
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_LIMITS: Final = {"int32": 2**31, "int64": 2**63}


class Walk:
    """One reading of one document."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        """Unknown and duplicate fields, each once, and no more than Kubernetes reports."""
        self.error: str | None = None
        self._path: list[str] = []
        """The current path, for problems: `["spec", ".", "containers", "[0]"]`, joined only on need."""
        self._struct = ""
        self._stack: list[str] = []
        """The current path as type errors have it: Go names the struct and the fields, but no indexes."""
        self._pinned = ""
        """The struct that errors name instead, while a type reads itself."""
        self._last = ""

    def document(self, node: Any, message: Message) -> Obj:
        """The stored form of `node`; DecodeError if it cannot be read as `message`."""
        stored: Obj = {}
        if node is not None:
            shape = Type("message", message.id)
            stored = self._message(node, shape, message.go_name, None) or {}
        if self.error is not None:
            raise DecodeError(self.error)
        return stored

    # One method per kind of type. Each gets the value read so far (`old`) and returns the new one.

    def _value(self, node: Any, kind: Type, go: str, old: Any, pointer: bool = False) -> Any:
        if node is None and pointer:
            return None
        if kind.kind == "special":
            return self._special(node, kind, old)
        if kind.kind == "list":
            return self._list(node, kind, go, old)
        if kind.kind == "map":
            return self._map(node, kind, go, old)
        if kind.kind == "message":
            return self._message(node, kind, go, old)
        return self._scalar(node, kind, go, old)

    def _message(self, node: Any, kind: Type, go: str, old: Obj | None) -> Obj | None:
        if node is None:
            return old
        members = _members(node)
        if members is None:
            self._mismatch(_word(node), go)
            return old
        message = schema.message(kind.name)
        out: Obj = {} if old is None else old
        seen: set[str] = set()
        struct, depth, place = self._struct, len(self._stack), len(self._path)
        for key, child in members:
            field = message.fields.get(key)
            if field is None and message.is_kind:
                field = TYPE_META.get(key)
            if field is None:
                self._problem("unknown", key)
                continue
            if key in seen:
                self._problem("duplicate", key)
            seen.add(key)
            self._struct = message.name
            self._stack += _embedding(message, key)
            self._stack.append(key)
            self._enter(key)
            go_name = field.go_type or go_type(field.type)
            out[key] = self._value(child, field.type, go_name, out.get(key), field.optional)
            self._struct = struct
            del self._stack[depth:], self._path[place:]
        return out

    def _map(self, node: Any, kind: Type, go: str, old: Obj | None) -> Obj | None:
        if node is None:
            return None
        members = _members(node)
        if members is None:
            self._mismatch(_word(node), go)
            return old
        out: Obj = {} if old is None else old
        element = go_element(go, kind.items)
        seen: set[str] = set()
        place = len(self._path)
        for key, child in members:
            if key in seen:
                self._problem("duplicate", key)
            seen.add(key)
            self._enter(key)
            out[key] = self._value(child, kind.items, element, None)
            del self._path[place:]
        return out

    def _list(self, node: Any, kind: Type, go: str, old: list[Any] | None) -> list[Any] | None:
        if node is None:
            return None
        if type(node) is not list:
            self._mismatch(_word(node), go)
            return old
        element = go_element(go, kind.items)
        before = old or []
        out = []
        for index, child in enumerate(node):
            self._path.append(f"[{index}]")
            out.append(
                self._value(child, kind.items, element, before[index] if index < len(before) else None)
            )
            self._path.pop()
        return out

    def _scalar(self, node: Any, kind: Type, go: str, old: Any) -> Any:
        if kind.name == "bytes":
            return self._bytes(node, go, old)
        if node is None:
            return old
        if kind.name == "string":
            return node if _is_text(node) else self._mismatch(_word(node), go, old)
        if kind.name == "bool":
            return node if type(node) is bool else self._mismatch(_word(node), go, old)
        if not _is_number(node):
            return self._mismatch(_word(node), go, old)
        if kind.name == "float64":
            return self._float(node, go, old)
        return self._integer(node, go, kind.name, old)

    def _integer(self, node: Any, go: str, size: str, old: Any) -> Any:
        text = _number_text(node)
        if _INTEGER.fullmatch(text):
            limit, value = _LIMITS[size], int(text)
            if -limit <= value < limit:
                return value
        return self._mismatch(f"number {text}", go, old)

    def _float(self, node: Any, go: str, old: Any) -> Any:
        value = float(node)
        if value - value != 0:
            return self._mismatch(f"number {_number_text(node)}", go, old)
        return value

    def _bytes(self, node: Any, go: str, old: Any) -> Any:
        if node is None:
            return None
        if _is_text(node):
            try:
                return gobase64.decode(node)
            except ValueError as error:
                self._save(str(error))
                return old
        if type(node) is list:
            numbers = [self._byte(item) for item in node]
            return bytes(numbers) if None not in numbers else old
        return self._mismatch(_word(node), go, old)

    def _byte(self, node: Any) -> Any:
        if node is None:
            return 0
        if not _is_number(node):
            return self._mismatch(_word(node), "uint8")
        text = _number_text(node)
        if re.fullmatch(r"[0-9]{1,3}", text, re.ASCII) and int(text) < 256:
            return int(text)
        return self._mismatch(f"number {text}", "uint8")

    def _special(self, node: Any, kind: Type, old: Any) -> Any:
        match kind.name:
            case "Time":
                return None if node is None else self._own(rfc3339.canonical, self._text(node))
            case "MicroTime":
                return None if node is None else self._own(rfc3339.canonical_micro, self._text(node))
            case "Quantity":
                return None if node is None else self._own(quantity.canonical, _raw_text(node).strip())
            case "Duration":
                return self._own(_duration, "" if node is None else self._text(node))
            case "IntOrString":
                return self._int_or_string(node, old)
            case "Verbs":
                return self._list(node, schema.parse_type("list<string>"), "v1.Verbs", old)
            case "FieldsV1" | "RawExtension":
                return old if node is None else to_plain(node)
            case "JSON":
                return to_plain(node)
        return self._schema_union(node, kind.name)

    def _int_or_string(self, node: Any, old: Any) -> Any:
        if node is None:
            return old if type(old) is int else 0
        if _is_text(node):
            return node
        if _is_number(node):
            value = self._integer(node, "int32", "int32", None)
        else:
            value = self._mismatch(_word(node), "int32")
        if value is None:
            self._stop()
        return value

    def _schema_union(self, node: Any, name: str) -> Any:
        """Reads a schema of apiextensions, or the boolean or list that may stand in its place. These types
        read themselves, and do not look for unknown fields."""
        if _members(node) is not None:
            inner = Walk()
            inner._pinned, inner._stack = self._pinned or self._struct, list(self._stack)
            shape = Type("message", "apiextensions/v1.JSONSchemaProps")
            value = inner._message(node, shape, "v1.JSONSchemaProps", None)
            if inner.error is not None:
                raise DecodeError(inner.error)
            return value
        if name == "JSONSchemaPropsOrBool" and type(node) is bool:
            return node
        if name == "JSONSchemaPropsOrArray" and type(node) is list:
            return [self._schema_union(item, "") for item in node]
        if name == "JSONSchemaPropsOrStringArray" and type(node) is list:
            return self._list(node, schema.parse_type("list<string>"), "[]string", None)
        if node is None:
            return None
        raise DecodeError("boolean or JSON schema expected")

    # Errors and problems.

    def _text(self, node: Any) -> str:
        if _is_text(node):
            return str(node)
        self._mismatch(_word(node), "string")
        self._stop()
        return ""

    def _own(self, read: Any, text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise DecodeError(str(error)) from None

    def _stop(self) -> None:
        """Raises the last error, not the first: in Go, a type with an UnmarshalJSON ends the decoding."""
        raise DecodeError(self._last)

    def _mismatch(self, what: str, go: str, old: Any = None) -> Any:
        if self._stack:
            place = f"Go struct field {self._pinned or self._struct}.{'.'.join(self._stack)}"
        else:
            place = "Go value"
        self._last = f"json: cannot unmarshal {what} into {place} of type {go}"
        self._save(self._last)
        return old

    def _save(self, text: str) -> None:
        if self.error is None:
            self.error = text

    def _enter(self, key: str) -> None:
        self._path.append(f".{key}" if self._path else key)

    def _problem(self, what: str, key: str) -> None:
        if len(self.problems) >= MAX_PROBLEMS:
            return
        where = f"{''.join(self._path)}.{key}" if self._path else key
        text = f"{what} field {words.quoted(words.cut(where))}"
        if text not in self.problems:
            self.problems.append(text)


def _embedding(message: Message, key: str) -> Iterable[str]:
    """The embedded structs between `message` and its field `key`, as in Go's field stack."""
    if message.is_kind and key in TYPE_META:
        return ("TypeMeta",)
    for own in message.own:
        if own.inline:
            inner = schema.message(own.type.name)
            if key in inner.fields:
                return (inner.name, *_embedding(inner, key))
        elif own.json == key:
            return ()
    return ()


def _duration(text: str) -> str:
    return durations.text(durations.parse(text))


def _members(node: Any) -> Iterable[tuple[str, Any]] | None:
    """The pairs of an object: in the order of the text, or sorted if they come from a dict."""
    if type(node) is Pairs:
        return node
    if isinstance(node, dict):
        return sorted(node.items())
    return None


def _is_text(node: Any) -> bool:
    return type(node) is str


def _is_number(node: Any) -> bool:
    return type(node) in (Number, int, float)


def _number_text(node: Any) -> str:
    return node if type(node) is Number else repr(node)


def _raw_text(node: Any) -> str:
    """The text that a quantity reads: the content of a string, or any other value as written."""
    if type(node) is str:
        return node
    if _is_number(node):
        return _number_text(node)
    return "{}"


def _word(node: Any) -> str:
    """The JSON type, as Go calls it."""
    if type(node) is bool:
        return "bool"
    if _is_number(node):
        return "number"
    if type(node) is str:
        return "string"
    return "array" if type(node) is list else "object"


# ---- Names of Go types, as they appear in Go's type errors (`… of type []v1.Container`).


@cache
def go_type(kind: Type) -> str:
    """The Go name of a type that has no name of its own in the table."""
    if kind.kind == "list":
        return "[]" + go_type(kind.items)
    if kind.kind == "map":
        return "map[string]" + go_type(kind.items)
    if kind.kind == "message":
        return schema.message(kind.name).go_name
    return {"bytes": "[]uint8", "Verbs": "v1.Verbs", "RawExtension": "runtime.RawExtension"}.get(
        kind.name, f"v1.{kind.name}" if kind.kind == "special" else kind.name
    )


def go_element(container: str, element: Type) -> str:
    """The name of the elements of a list or map whose own name is `container`."""
    for prefix in ("[]", "map[string]"):
        if container.startswith(prefix):
            return container[len(prefix) :]
    return go_type(element)
