"""Parses JSON text into a tree that keeps everything: each pair of an object in order, numbers as written.

This is the exact reading behind error messages and duplicate keys. Valid bodies normally take the
compiled path (`compiled.py`) and never come here. Nesting beyond `MAX_DEPTH` is refused: nothing in
Kubernetes needs it, and recursive code further down could not bear it.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any, Final, TypeAlias

import msgspec

from longshore.api.codec.decoded import DecodeError, Plain
from longshore.api.codec.gosyntax import syntax_error
from longshore.api.field import cut, quoted

MAX_DEPTH: Final = 200
MAX_PROBLEMS: Final = 100
"""Kubernetes reports no more findings than this."""

TOO_DEEP: Final = "exceeded max depth"
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)
_ALL_BUT_BRACKETS: Final = bytes(set(range(256)) - set(b"{}[]"))
_SURROGATE: Final = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


class Pairs(list[tuple[str, Any]]):
    """The members of an object in order, duplicates included."""


class Number(str):
    """A number as it is written."""

    __slots__ = ()

    def plain(self) -> int | float:
        """The Python number: integers exact, all others as the nearest float."""
        if len(self) < 400 and self.lstrip("-").isdigit():
            return int(self)
        value = float(self)
        if value - value != 0:
            raise DecodeError(f"json: cannot unmarshal number {self} into Go value of type float64")
        return value


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _replace_bytes(error: UnicodeError) -> tuple[str, int]:
    # Go replaces every bad byte; Python's own handler replaces every bad sequence.
    assert isinstance(error, UnicodeDecodeError)
    return "\N{REPLACEMENT CHARACTER}" * (error.end - error.start), error.end


codecs.register_error("longshore-each-byte", _replace_bytes)

_exact = json.JSONDecoder(
    object_pairs_hook=Pairs, parse_float=Number, parse_int=Number, parse_constant=_refuse
)
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def tree(raw: bytes) -> Any:
    """The document as Pairs, lists, strings, Numbers, booleans and None. DecodeError on bad syntax."""
    if not is_shallow(raw):
        raise DecodeError(syntax_error(raw) or TOO_DEEP)
    text = raw.decode("utf-8", "longshore-each-byte")
    if "\\ud" in text or "\\uD" in text:
        text = _SURROGATE.sub(_keep_pairs, text)
    try:
        return _exact.decode(text)
    except ValueError as error:
        raise DecodeError(syntax_error(raw) or str(error)) from None


def _keep_pairs(match: re.Match[str]) -> str:
    return match[0] if len(match[0]) != 6 else "\\ufffd"


def is_shallow(raw: bytes) -> bool:
    """Whether the text nests no deeper than MAX_DEPTH."""
    if raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:
        return True
    brackets = raw.translate(None, _ALL_BUT_BRACKETS)
    for _ in range(MAX_DEPTH):
        if not brackets:
            return True
        shorter = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(shorter) * 10 > len(brackets) * 9:
            # Deep rather than wide, or brackets inside strings are in the way: count them properly.
            break
        brackets = shorter
    depth = 0
    for match in _BRACKETS.finditer(raw):
        if match[1]:
            depth += 1
            if depth > MAX_DEPTH:
                return False
        elif match[2]:
            depth -= 1
    return True


def has_duplicates(raw: bytes, value: Any) -> bool:
    """Whether `raw` may have a duplicate key that its decoded `value` has lost.

    A lost pair also loses its colon, so the counts of colons differ, unless the text also has an escaped
    colon.
    """
    if raw.count(b":") != _encode(value).count(b":"):
        return True
    return b"\\u003" in raw and (b"\\u003a" in raw or b"\\u003A" in raw)


def plain_json(raw: bytes) -> Plain:
    """The document as plain Python values, with duplicate keys reported; the last one counts."""
    if is_shallow(raw):
        try:
            value = _decode(raw)
        except (msgspec.MsgspecError, UnicodeError):
            pass
        else:
            if not has_duplicates(raw, value):
                return Plain(value)
    problems: list[str] = []
    value = to_plain(tree(raw), problems)
    return Plain(value, problems)


def to_plain(node: Any, problems: list[str] | None = None, path: _Path = None) -> Any:
    """A tree as plain Python values. Duplicate keys are appended to `problems`, each once and no more than
    Kubernetes reports."""
    if type(node) is Pairs:
        out: dict[str, Any] = {}
        for key, child in node:
            where = (path, key)
            if problems is not None and key in out and len(problems) < MAX_PROBLEMS:
                problem = f"duplicate field {quoted(cut(_text(where)))}"
                if problem not in problems:
                    problems.append(problem)
            out[key] = to_plain(child, problems, where)
        return out
    if type(node) is list:
        return [to_plain(child, problems, (path, index)) for index, child in enumerate(node)]
    return node.plain() if type(node) is Number else node


_Path: TypeAlias = "tuple[_Path, str | int] | None"
"""The steps to a value, the last one first. Joined only on need: one key may be as long as a body."""


def _text(path: _Path) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if type(step) is int else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")
