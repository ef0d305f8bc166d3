"""JSONPath as printer columns of custom resources use it: `.status.conditions[?(@.type=="Ready")].status`.

Reads dotted and quoted names (`.a.b`, `['a.b']`, `.a\\.b`), indexes, slices, `[*]` and `.*`, unions
(`[0,2]`), filters that compare one path with a literal, and `..` for everything below. A path that is missing
in an object finds nothing, as kubectl has it. Refused with `JSONPathError`: a template instead of a path, and
a path that multiplies what it finds. Users bring paths to the server in definitions of custom kinds, so
evaluating any path costs at most a small multiple of the object's size.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

Step = Callable[[list[Any]], list[Any]]
"""Maps the values found so far to the values one step further."""

_NAME: Final = re.compile(r"(?:\\.|[^.\[\]\\])+")
_SLICE: Final = re.compile(r"(-?\d*):(-?\d*)(?::(-?\d*))?")
_FILTER: Final = re.compile(r"\?\(\s*@(?P<path>.*?)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<literal>.+?)\s*)?\)")
_OPERATOR: Final = re.compile(r"[=<>!]")
_MAX_INDEX_CHARACTERS: Final = 18
"""Longer numbers do not fit 64 bits, in which Kubernetes reads an index."""
_MAX_CHARACTERS: Final = 1024
_MAX_UNITED: Final = 32
"""The most times that a path may find one value by its unions: the product of the unions' sizes."""
_MAX_DESCENTS: Final = 4
_MAX_FILTER_DEPTH: Final = 10
"""How deep filters may nest."""
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JSONPathError(ValueError):
    """Not a path this evaluator reads. Write it as `.spec.field`, `[0]`, `[*]` or `[?(@.type=="x")]`."""


class OutOfBounds(LookupError):
    """A list is too short for an index in the path."""


class Path:
    """A parsed path. `find` gives every value it leads to, in order; an empty list when there is none."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str, steps: tuple[Step, ...]) -> None:
        self.text = text
        self._steps = steps

    def find(self, root: Any) -> list[Any]:
        try:
            return self.found(root)
        except OutOfBounds:
            return []

    def found(self, root: Any) -> list[Any]:
        """Every value that the path leads to. Raises OutOfBounds."""
        values = [root]
        for step in self._steps:
            values = step(values)
            if not values:
                break
        return values


@lru_cache(maxsize=1024)
def parse(text: str) -> Path:
    """Reads a path, with or without the braces kubectl puts around it."""
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    if len(inner) > _MAX_CHARACTERS:
        raise JSONPathError(f"a path has at most {_MAX_CHARACTERS} characters, and this has {len(inner)}")
    return Path(text, tuple(_steps(inner, 0)))


def _steps(text: str, filter_depth: int) -> Iterable[Step]:
    at = 1 if text.startswith("$") else 0
    united, descents = 1, 0
    while at < len(text):
        if text[at] == "[":
            end = _closing(text, at)
            steps = _bracket(text[at + 1 : end].strip(), filter_depth)
            united *= len(steps)
            if united > _MAX_UNITED:
                raise JSONPathError(f"unions that find a value more than {_MAX_UNITED} times: {text}")
            yield steps[0] if len(steps) == 1 else _union(steps)
            at = end + 1
            continue
        if text[at] == ".":
            at += 1
            if text.startswith(".", at):
                at += 1
                descents += 1
                if descents > _MAX_DESCENTS:
                    raise JSONPathError(f"more than {_MAX_DESCENTS} times '..': {text}")
                yield _descent
            if at == len(text) or text[at] == "[":
                continue
        name = _NAME.match(text, at)
        if name is None:
            raise JSONPathError(f"unexpected {text[at:]!r} in {text}")
        at = name.end()
        yield _wildcard if name[0] == "*" else _field(re.sub(r"\\(.)", r"\1", name[0]))


def _closing(text: str, start: int) -> int:
    """The index of the bracket that closes the one at `start`. Brackets in quotes do not count."""
    depth, quote = 0, ""
    for at in range(start, len(text)):
        ch = text[at]
        if quote:
            quote = "" if ch == quote else quote
        elif ch in "'\"":
            quote = ch
        elif ch == "[":
            depth += 1
        elif ch == "]":
            depth -= 1
            if not depth:
                return at
    raise JSONPathError(f"unterminated array: {text}")


def _bracket(inner: str, filter_depth: int) -> list[Step]:
    """The steps of a bracket, whose results are united."""
    if inner == "*":
        return [_wildcard]
    if inner.startswith("?"):
        return [_filter(inner, filter_depth + 1)]
    if inner[:1] in ("'", '"') or "," in inner:
        return [_single(part.strip()) for part in _split(inner)] or [_union([])]
    return [_single(inner)]


def _split(inner: str) -> list[str]:
    return [m[0] for m in re.finditer(r"'[^']*'|\"[^\"]*\"|[^,]+", inner) if m[0].strip()]


def _single(inner: str) -> Step:
    if inner[:1] in ("'", '"') and len(inner) > 1 and inner[-1] == inner[0]:
        return _field(inner[1:-1])
    if re.fullmatch(r"-?\d+", inner):
        return _index(_number(inner))
    if match := _SLICE.fullmatch(inner):
        start, end, step = (_number(g) if g else None for g in match.groups())
        if step is not None and step <= 0:
            raise JSONPathError("step must be > 0")
        return _slice(slice(start, end, step))
    raise JSONPathError(f"invalid array index {inner}")


def _number(text: str) -> int:
    if text == "-" or len(text) > _MAX_INDEX_CHARACTERS:
        raise JSONPathError(f"array index {text} is not a number")
    return int(text)


def _field(name: str) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [v[name] for v in values if type(v) is dict and name in v]

    return step


def _wildcard(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, dict):
            found += value.values()
        elif isinstance(value, list):
            found += value
    return found


def _descent(values: list[Any]) -> list[Any]:
    """The values and everything below them, each once, without empty containers and scalars."""
    found: dict[int, Any] = {}
    left = values[::-1]
    while left:
        value = left.pop()
        if value and isinstance(value, dict | list) and id(value) not in found:
            found[id(value)] = value
            left += reversed(value.values() if isinstance(value, dict) else value)
    return list(found.values())


def _index(index: int) -> Step:
    def step(values: list[Any]) -> list[Any]:
        lists = [v for v in values if isinstance(v, list)]
        for each in lists:
            if not -len(each) <= index < len(each):
                raise OutOfBounds(f"array index out of bounds: index {index}, length {len(each)}")
        return [each[index] for each in lists]

    return step


def _slice(part: slice) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [item for v in values if isinstance(v, list) for item in v[part]]

    return step


def _union(steps: list[Step]) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [found for each in steps for found in each(values)]

    return step


def _filter(inner: str, depth: int) -> Step:
    if depth > _MAX_FILTER_DEPTH:
        raise JSONPathError(f"more than {_MAX_FILTER_DEPTH} filters within each other")
    match = _FILTER.fullmatch(inner)
    if match is None or (not match["op"] and _OPERATOR.search(match["path"])):  # such as =~
        raise JSONPathError(f"unrecognized filter {inner}")
    path = Path(match["path"], tuple(_steps(match["path"], depth)))
    holds = _test(match["op"], _literal(match["literal"])) if match["op"] else bool

    def step(values: list[Any]) -> list[Any]:
        return [item for v in values if isinstance(v, list) for item in v if any(map(holds, path.find(item)))]

    # Without an operator it is enough that the path leads somewhere.
    def exists(values: list[Any]) -> list[Any]:
        return [item for v in values if isinstance(v, list) for item in v if path.find(item)]

    return step if match["op"] else exists


def _test(op: str, wanted: Any) -> Callable[[Any], bool]:
    compare = _COMPARE[op]

    def holds(value: Any) -> bool:
        # Values of different types are never comparable; a boolean is not a number here.
        numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
        if (type(value) is bool) != (type(wanted) is bool) or not (numbers or type(value) is type(wanted)):
            return False
        return compare(value, wanted)

    return holds


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise JSONPathError(f"unrecognized literal {text}") from None
