"""Label selectors: `app in (a,b),tier!=x,!only` as a query parameter, or a LabelSelector object.

`parse` speaks kubectl's whole grammar and refuses with Kubernetes' own 400 texts; `from_selector`
takes the `matchLabels`/`matchExpressions` form, which validation has accepted before. Either gives a
`Selector` whose `matches` is compiled once, since a list runs it over every object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from longshore.api import errors, field, names
from longshore.api.types import Obj

Labels = Mapping[str, str]
Predicate = Callable[[Labels], bool]

_BINARY: Final = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_EXPECTED: Final = ", ".join(_BINARY.values())
_INT64: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition. Operators are `in`, `notin`, `=`, `==`, `!=`, `gt`, `lt`, `exists` and `!`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selector:
    """All of `requirements` together. `matches(labels)` tells whether a set of labels has them all."""

    requirements: tuple[Requirement, ...]
    matches: Predicate
    nothing: bool = False
    """Whether it selects nothing at all, as a selector that is not there does."""

    @property
    def empty(self) -> bool:
        """Whether it selects everything."""
        return not self.requirements and not self.nothing


def parse(text: str) -> Selector:
    """The selector a `labelSelector` parameter spells. Raises a 400 for what is none."""
    if not text:
        return EVERYTHING
    try:
        requirements = _Parser(text).parse()
    except _Unparsable as problem:
        raise errors.bad_request(str(problem)) from None
    return build(requirements)


def from_selector(selector: Obj | None) -> Selector:
    """The selector of a LabelSelector object: none selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    requirements = [Requirement(k, "in", (v,)) for k, v in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or ():
        operator = _OBJECT_OPERATORS[each["operator"]]
        requirements.append(Requirement(each["key"], operator, tuple(each.get("values") or ())))
    return build(requirements)


_OBJECT_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def build(requirements: Iterable[Requirement]) -> Selector:
    """A selector of these requirements, compiled."""
    ordered = tuple(sorted(requirements, key=lambda r: r.key))
    return Selector(ordered, _compile(ordered))


def _compile(requirements: Sequence[Requirement]) -> Predicate:
    exact = {
        r.key: r.values[0] for r in requirements if r.operator in ("=", "==", "in") and len(r.values) == 1
    }
    if len(exact) == len(requirements):
        return _all_equal(exact)
    predicates = tuple(_predicate(r) for r in requirements)
    if len(predicates) == 1:
        return predicates[0]

    def matches(labels: Labels) -> bool:
        for predicate in predicates:  # noqa: SIM110 - a generator costs as much again as the loop
            if not predicate(labels):
                return False
        return True

    return matches


def _all_equal(wanted: dict[str, str]) -> Predicate:
    if not wanted:
        return lambda labels: True
    if len(wanted) == 1:
        key, value = next(iter(wanted.items()))
        return lambda labels: labels.get(key) == value
    pairs = tuple(wanted.items())

    def matches(labels: Labels) -> bool:
        for key, value in pairs:  # noqa: SIM110 - a generator costs as much again as the loop
            if labels.get(key) != value:
                return False
        return True

    return matches


def _predicate(requirement: Requirement) -> Predicate:
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "in" | "=" | "==":
            return lambda labels: labels.get(key) in values
        case "notin" | "!=":
            return lambda labels: labels.get(key) not in values
        case "exists":
            return lambda labels: key in labels
        case "!":
            return lambda labels: key not in labels
    bound = int(requirement.values[0])
    sign = 1 if requirement.operator == "gt" else -1

    def compare(labels: Labels) -> bool:
        number = _integer(labels.get(key, ""))
        return number is not None and sign * number > sign * bound

    return compare


def _integer(text: str) -> int | None:
    """A 64-bit integer in decimal, or None."""
    if _INT64.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


EVERYTHING: Final = build(())
NOTHING: Final = Selector((), lambda labels: False, nothing=True)


class _Unparsable(Exception):
    """Not a label selector; the text says what was found and what would have been right."""


_SYMBOLS: Final = frozenset("=!(),<>")
_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))", re.ASCII)
_END: Final = ""


class _Parser:
    """Recursive descent over a list of tokens; the empty token stands for the end.

    Words are identifiers, except that `in` and `notin` are operators where one is expected.
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
            raise _Unparsable(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                requirements.append(self._requirement())
            except _Unparsable as problem:
                raise _Unparsable(f"unable to parse requirement: {problem}") from None
            token = self._next()
            if token == _END:
                return requirements
            if token != ",":
                raise _Unparsable(f"found '{token}', expected: ',' or 'end of string'")
            if not (_is_word(self._peek()) or self._peek() == "!"):
                raise _Unparsable(f"found '{self._peek()}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        token = self._next()
        negated = token == "!"
        if negated:
            token = self._next()
        if not _is_word(token):
            raise _Unparsable(f"found '{token}', expected: identifier")
        key = token
        _check_key(key)
        if negated or self._peek() in (_END, ","):
            return Requirement(key, "!" if negated else "exists")
        token = self._next()
        operator = _BINARY.get(token)
        if operator is None:
            raise _Unparsable(f"found '{token}', expected: {_EXPECTED}")
        values = self._values() if operator in ("in", "notin") else (self._exact_value(),)
        _check_values(key, operator, values)
        return Requirement(key, operator, values)

    def _exact_value(self) -> str:
        if self._peek() in (_END, ","):
            return ""
        token = self._next()
        if not _is_word(token):
            raise _Unparsable(f"found '{token}', expected: identifier")
        return token

    def _values(self) -> tuple[str, ...]:
        token = self._next()
        if token != "(":
            raise _Unparsable(f"found '{token}' expected: '('")
        first = self._peek()
        if first == ")":
            self._next()
            return ("",)
        if not (_is_word(first) or first == ","):
            raise _Unparsable(f"found '{first}', expected: ',', ')' or identifier")
        found: set[str] = set()
        while True:
            token = self._next()
            if _is_word(token):
                found.add(token)
                if self._peek() not in (",", ")"):
                    raise _Unparsable(f"found '{self._peek()}', expected: ',' or ')'")
            elif token == ",":
                # An empty place between, before or after commas stands for the empty value.
                if not found or self._peek() in (",", ")"):
                    found.add("")
            else:
                raise _Unparsable(f"found '{token}', expected: ',', or identifier")
            if self._peek() == ")":
                self._next()
                return tuple(sorted(found))


def _is_word(token: str) -> bool:
    return token != _END and token[0] not in _SYMBOLS


def _check_key(key: str) -> None:
    problems = names.qualified_name(key)
    if problems:
        raise _Unparsable(f"<nil>: Invalid value: {field.quoted(key)}: {'; '.join(problems)}")


def _check_values(key: str, operator: str, values: tuple[str, ...]) -> None:
    problems: list[field.FieldError] = []
    for i, value in enumerate(values):
        if operator in ("gt", "lt") and _integer(value) is None:
            text = "for 'Gt', 'Lt' operators, the value must be an integer"
            problems.append(field.invalid(f"values[{i}]", value, text))
    for i, value in enumerate(values):
        wrong = names.label_value(value)
        if wrong:
            problems.append(field.invalid(f"values[{i}][{key}]", value, "; ".join(wrong)))
    if problems:
        texts = list(dict.fromkeys(str(p) for p in problems))
        raise _Unparsable(texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]")
