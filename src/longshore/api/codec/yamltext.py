"""YAML to plain JSON values as Kubernetes' own parser does it: YAML 1.1 with Go's habits.

`yes`, `on` and `y` are booleans, keys become strings, a number without a fraction is an integer, times stay
text. Only the first document of a stream is read, as in Kubernetes. Duplicate keys are reported and the last
one counts. Documents that grow too much through aliases, or nest too deeply, are refused.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from longshore.api.codec import gobase64
from longshore.api.codec.decoded import DecodeError, Plain
from longshore.api.codec.gosyntax import MAX_NESTING
from longshore.api.codec.jsontext import MAX_DEPTH, MAX_PROBLEMS
from longshore.api.field import cut, quoted
from longshore.api.types import copy_of

try:
    # Go's parser is a port of libyaml, so the messages are the same.
    from yaml.cyaml import CParser as Parser  # type: ignore[attr-defined]
except ImportError:  # PyYAML built without libyaml: only the messages of syntax errors differ
    from yaml import Loader as Parser  # type: ignore[assignment] # without libyaml

_TAG: Final = "tag:yaml.org,2002:"
_RESOLVABLE: Final = frozenset(_TAG + name for name in ("str", "bool", "int", "float", "null", "timestamp"))
_WORDS: Final[dict[str, tuple[str, Any]]] = {
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), ("bool", True)
    ),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), ("bool", False)),
    **dict.fromkeys(("false", "False", "FALSE"), ("bool", False)),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], ("null", None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), ("float", float("nan"))),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), ("float", float("inf"))),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), ("float", float("-inf"))),
    "<<": ("merge", "<<"),
}
_FIRST: Final = frozenset("+-0123456789.yYnNtTfFoO~<")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_DOTTED: Final = re.compile(r"\.[0-9]+([eE][-+]?[0-9]+)?", re.ASCII)
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII
)
_MAX_ALIASED_CHARACTERS: Final = 3 << 20
"""Characters that aliases may add: as many as a body may have."""
_TOO_DEEP: Final = f"yaml: exceeded max depth of {MAX_NESTING}"


def plain_yaml(raw: bytes) -> Plain:
    """The first document as plain values. Duplicate keys are one problem text of several lines."""
    try:
        composer = _Composer(raw)
        value = composer.document()
    except yaml.YAMLError as error:
        raise DecodeError(f"yaml: {_message(error)}") from None
    if not composer.duplicates:
        return Plain(value)
    return Plain(value, ["yaml: unmarshal errors:\n  " + "\n  ".join(composer.duplicates)])


def _message(error: yaml.YAMLError) -> str:
    """Go's message with its line. Go counts lines from one in the scanner and from zero in the parser."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(getattr(error, "reason", error))
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    problem = error.problem or "unknown problem parsing YAML content"
    return f"line {line}: {problem}" if line else problem


class _Open(msgspec.Struct):
    """A list or mapping that is still being read."""

    value: Any
    anchor: str | None
    start: int
    """Nodes that were counted before the list or mapping began."""
    text_start: int
    """Characters that were counted before the list or mapping began."""
    key: Any = None
    has_key: bool = False
    seen: set[tuple[type, Any]] = msgspec.field(default_factory=set)


class _Anchored(NamedTuple):
    """A value that aliases may repeat, with its size."""

    value: Any
    nodes: int
    characters: int


class _Composer:
    def __init__(self, raw: bytes) -> None:
        self._parser = Parser(raw)
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}
        self._nodes = 0
        self._characters = 0
        self._aliased = 0
        self._aliased_characters = 0
        self.duplicates: list[str] = []

    def document(self) -> Any:
        self._parser.get_event()
        if isinstance(self._parser.get_event(), yaml.StreamEndEvent):
            return None
        while True:
            done, value = self._node(self._parser.get_event())
            if done:
                return value

    def _node(self, event: Any) -> tuple[bool, Any]:
        """Takes one event; (True, value) once the outermost value is complete."""
        line = event.start_mark.line
        if isinstance(event, yaml.ScalarEvent):
            self._count(1, len(event.value), aliased=False)
            value = _scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = _Anchored(value, 1, len(event.value))
            return self._add(value, line)
        if isinstance(event, yaml.AliasEvent):
            return self._add(self._alias(event.anchor), line)
        if isinstance(event, yaml.CollectionStartEvent):
            if len(self._stack) >= MAX_DEPTH:
                raise DecodeError(_TOO_DEEP)
            self._count(1, 0, aliased=False)
            value = {} if isinstance(event, yaml.MappingStartEvent) else []
            self._stack.append(_Open(value, event.anchor, self._nodes, self._characters))
            return False, None
        closed = self._stack.pop()
        if closed.anchor:
            size = self._nodes - closed.start + 1
            self._anchors[closed.anchor] = _Anchored(closed.value, size, self._characters - closed.text_start)
        return self._add(closed.value, line)

    def _alias(self, anchor: str | None) -> Any:
        if any(opened.anchor == anchor for opened in self._stack):
            raise DecodeError(f"yaml: anchor '{anchor}' value contains itself")
        if anchor is None or anchor not in self._anchors:
            raise DecodeError(f"yaml: unknown anchor '{anchor}' referenced")
        value, size, characters = self._anchors[anchor]
        self._count(size, characters, aliased=True)
        return copy_of(value)

    def _count(self, nodes: int, characters: int, *, aliased: bool) -> None:
        """Refuses documents that consist mostly of repetition: by Go's measure, which counts nodes, and by
        their text, which Go does not count."""
        self._nodes += nodes
        self._characters += characters
        if aliased:
            self._aliased += nodes
            self._aliased_characters += characters
            if self._aliased_characters > _MAX_ALIASED_CHARACTERS:
                raise DecodeError("yaml: document contains excessive aliasing")
        if self._aliased > 100 and self._nodes > 1000:
            spread = min(max(self._nodes - 400_000, 0) / 3_600_000, 1.0)
            if self._aliased / self._nodes > 0.99 - 0.89 * spread:
                raise DecodeError("yaml: document contains excessive aliasing")

    def _add(self, value: Any, line: int) -> tuple[bool, Any]:
        """Puts a complete value where it belongs."""
        if not self._stack:
            return True, _json_number(value)
        parent = self._stack[-1]
        if isinstance(parent.value, list):
            parent.value.append(_json_number(value))
        elif not parent.has_key:
            parent.key, parent.has_key = value, True
        else:
            parent.has_key = False
            if parent.key is _MERGE:
                self._merge(parent, value, line)
            else:
                self._set(parent, parent.key, value, line)
        return False, None

    def _merge(self, parent: _Open, value: Any, line: int) -> None:
        for source in reversed(value) if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise DecodeError("yaml: map merge requires map or sequence of maps as the value")
            for key, item in source.items():
                self._set(parent, key, item, line)

    def _set(self, parent: _Open, key: Any, value: Any, line: int) -> None:
        if isinstance(key, dict | list):
            raise DecodeError(f"yaml: invalid map key: {'map' if isinstance(key, dict) else 'list'}")
        mark = (type(key), key)
        if mark in parent.seen and len(self.duplicates) < MAX_PROBLEMS:
            shown = quoted(cut(key)) if isinstance(key, str) else _key_text(key)
            self.duplicates.append(f"line {line + 1}: key {shown} already set in map")
        parent.seen.add(mark)
        parent.value[_key_text(key)] = _json_number(value)


class _Merge:
    pass


_MERGE: Final = _Merge()


def _scalar(event: yaml.ScalarEvent) -> Any:
    text, tag = event.value, event.tag
    if not tag and not event.implicit[0]:
        return text
    if tag == _TAG + "binary":
        try:
            return gobase64.decode(text).decode("utf-8", "replace")
        except ValueError:
            raise DecodeError("yaml: !!binary value contains invalid base64 data") from None
    if tag and tag not in _RESOLVABLE:
        return text
    wanted = tag.removeprefix(_TAG) if tag else ""
    if wanted in ("str", "timestamp"):
        return text  # times stay text
    found, value = _resolve(text)
    if wanted in ("", found):
        return value
    if wanted == "float" and found == "int":
        return float(value)
    raise DecodeError(f"yaml: cannot decode !!{found} `{text}` as a !!{wanted}")


def is_text(text: str) -> bool:
    """Whether these characters, unquoted, are read as a string."""
    return _resolve(text)[0] == "str"


def _resolve(text: str) -> tuple[str, Any]:
    """The type and value of an unquoted scalar."""
    if text and text[0] not in _FIRST:
        return "str", text
    if text in _WORDS:
        found, value = _WORDS[text]
        return found, (_MERGE if found == "merge" else value)
    if text[0] == ".":
        return ("float", float(text)) if _DOTTED.fullmatch(text) else ("str", text)
    if text[0] in "+-0123456789":
        plain = text.replace("_", "")
        match = _INTEGER.fullmatch(plain) if len(plain) < 400 else None
        if match is not None:
            sign, hexadecimal, binary, octal, decimal = match.groups()
            value = int(hexadecimal or binary or octal or decimal, _base(match))
            return "int", -value if sign == "-" else value
        if _FLOAT.fullmatch(plain):
            return "float", float(plain)
    return "str", text


def _base(match: re.Match[str]) -> int:
    return 16 if match[2] else 2 if match[3] else 8 if match[4] else 10


def _json_number(value: Any) -> Any:
    """A float as JSON would carry it: without a fraction it is an integer."""
    if value is _MERGE:
        return "<<"
    if type(value) is not float:
        return value
    if value - value != 0:
        name = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
        raise DecodeError(f"json: unsupported value: {name}")
    return int(value) if value == int(value) and abs(value) < 1e21 else value


def _key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    if isinstance(key, float):
        return repr(_json_number(key))
    if key is _MERGE:
        return "<<"
    raise DecodeError("unsupported map key of type: %!s(<nil>), key: <nil>")


try:
    from yaml import CSafeDumper as Dumper
except ImportError:  # PyYAML built without libyaml takes five times as long
    from yaml import SafeDumper as Dumper  # type: ignore[assignment] # without libyaml

_STRING: Final = "tag:yaml.org,2002:str"


class _Dumper(Dumper):
    """Writes text with line ends as a block, and text that would read as another type in double quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Dumper, value: str) -> yaml.ScalarNode:
    resolve: Any = dumper.resolve  # untyped in the library's stubs
    if "\n" in value:
        style: str | None = "|"
    elif is_text(value) and resolve(yaml.ScalarNode, value, (True, False)) == _STRING:
        style = None
    else:
        style = '"'
    return dumper.represent_scalar(_STRING, value, style=style)


_Dumper.add_representer(str, _text)


def encode_yaml(value: Any) -> bytes:
    """One document, keys sorted."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, default_flow_style=False)
    return text.encode()
