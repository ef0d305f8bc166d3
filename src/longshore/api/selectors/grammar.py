"""The grammar of label selectors: `app in (a,b),tier!=x,!only,n>5` as a list of requirements.

Words and symbols are read as Kubernetes' own lexer reads them, and errors have its texts: what was found, and
what was expected.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from longshore.api import field, label_syntax

_BINARY: Final = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_EXPECTED: Final = ", ".join(_BINARY.values())
_INT64: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MAX_DIGITS: Final = 64
"""Characters of a number, leading zeros included: a label's value has at most 63."""


class Requirement(msgspec.Struct, frozen=True):
    """One condition. Operators are `in`, `notin`, `=`, `==`, `!=`, `gt`, `lt`, `exists` and `!`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


def requirements_of(text: str) -> list[Requirement]:
    """The requirements of a selector, in its own order. Raises Unparsable."""
    return _Parser(text).parse()


def integer(text: str) -> int | None:
    """A 64-bit integer in decimal, or None."""
    if len(text) > _MAX_DIGITS or _INT64.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


class Unparsable(Exception):
    """The text is no label selector. The message says what was found and what was expected."""


_SYMBOLS: Final = frozenset("=!(),<>")
_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))", re.ASCII)
_END: Final = ""


class _Parser:
    """Recursive descent over a list of tokens; the empty token stands for the end.

    Words are identifiers, except that `in` and `notin` are operators where an operator is expected.
    """

    def __init__(self, text: str) -> None:
        # Kubernetes' lexer takes a NUL byte for the end of the text.
        self._tokens = [m.group(1) or m.group(2) for m in _TOKEN.finditer(text.partition("\0")[0])]
        self._tokens.append(_END)
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        if self._peek() == _END:
            return requirements
        if not (_is_word(self._peek()) or self._peek() == "!"):
            raise Unparsable(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                requirements.append(self._requirement())
            except Unparsable as problem:
                raise Unparsable(f"unable to parse requirement: {problem}") from None
            token = self._next()
            if token == _END:
                return requirements
            if token != ",":
                raise Unparsable(f"found '{token}', expected: ',' or 'end of string'")
            if not (_is_word(self._peek()) or self._peek() == "!"):
                raise Unparsable(f"found '{self._peek()}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        token = self._next()
        negated = token == "!"
        if negated:
            token = self._next()
        if not _is_word(token):
            raise Unparsable(f"found '{token}', expected: identifier")
        key = token
        _check_key(key)
        if negated or self._peek() in (_END, ","):
            return Requirement(key, "!" if negated else "exists")
        token = self._next()
        operator = _BINARY.get(token)
        if operator is None:
            raise Unparsable(f"found '{token}', expected: {_EXPECTED}")
        values = self._values() if operator in ("in", "notin") else (self._exact_value(),)
        _check_values(key, operator, values)
        return Requirement(key, operator, values)

    def _exact_value(self) -> str:
        if self._peek() in (_END, ","):
            return ""
        token = self._next()
        if not _is_word(token):
            raise Unparsable(f"found '{token}', expected: identifier")
        return token

    def _values(self) -> tuple[str, ...]:
        token = self._next()
        if token != "(":
            raise Unparsable(f"found '{token}' expected: '('")
        first = self._peek()
        if first == ")":
            self._next()
            return ("",)
        if not (_is_word(first) or first == ","):
            raise Unparsable(f"found '{first}', expected: ',', ')' or identifier")
        found: set[str] = set()
        while True:
            token = self._next()
            if _is_word(token):
                found.add(token)
                if self._peek() not in (",", ")"):
                    raise Unparsable(f"found '{self._peek()}', expected: ',' or ')'")
            elif token == ",":
                # An empty place between, before or after commas stands for the empty value.
                if not found or self._peek() in (",", ")"):
                    found.add("")
            else:
                raise Unparsable(f"found '{token}', expected: ',', or identifier")
            if self._peek() == ")":
                self._next()
                return tuple(sorted(found))


def _is_word(token: str) -> bool:
    return token != _END and token[0] not in _SYMBOLS


def _check_key(key: str) -> None:
    problems = label_syntax.qualified_name(key)
    if problems:
        raise Unparsable(f"<nil>: Invalid value: {field.quoted(key)}: {'; '.join(problems)}")


def _check_values(key: str, operator: str, values: tuple[str, ...]) -> None:
    problems: list[field.FieldError] = []
    for i, value in enumerate(values):
        if operator in ("gt", "lt") and integer(value) is None:
            text = "for 'Gt', 'Lt' operators, the value must be an integer"
            problems.append(field.invalid(f"values[{i}]", value, text))
    for i, value in enumerate(values):
        wrong = label_syntax.label_value(value)
        if wrong:
            problems.append(field.invalid(f"values[{i}][{key}]", value, "; ".join(wrong)))
    if problems:
        texts = list(dict.fromkeys(str(p) for p in problems))
        raise Unparsable(texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]")
