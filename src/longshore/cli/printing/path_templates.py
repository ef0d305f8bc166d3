"""`-o jsonpath=…`, `jsonpath-as-json=…` and `custom-columns=…`: text with paths in braces, ranges and quotes.

Paths are read by the same evaluator as the printer columns of custom resources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from longshore.cli.main import Said
from longshore.cli.printing.columns import Columns

if TYPE_CHECKING:
    from longshore.api.jsonpath import Path
    from longshore.api.types import Obj

_PART: Final = re.compile(r"\{((?:[^{}\"']|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')*)\}|([^{]+)", re.S)
_MAX_RANGE_DEPTH: Final = 50
"""How deeply ranges may be nested."""
Part: TypeAlias = Callable[[Any, Any], Iterable[Sequence[Any]]]
"""A function from the root and the current value to the values of a part. A range calls it for each item."""


def jsonpath(template: str) -> Callable[[Any], str]:
    """The function that fills in a template."""
    return _filled(template, lambda values: " ".join(map(shown, values)))


def jsonpath_as_json(template: str) -> Callable[[Any], str]:
    """The function that writes each part of a template as a JSON list."""
    from longshore.cli.printing import objects

    return _filled(template, lambda values: objects.as_json([*values]))


def _filled(template: str, write: Callable[[Sequence[Any]], str]) -> Callable[[Any], str]:
    parts = _block(iter(_PART.findall(_checked(template))), 0)
    return lambda obj: "".join(write(values) for part in parts for values in part(obj, obj))


def _checked(template: str) -> str:
    if _PART.sub("", template):
        raise Said(f"error: error parsing jsonpath {template}, unclosed action", 2)
    return template


def _block(parts: Iterator[tuple[str, str]], depth: int) -> list[Part]:
    """The parts up to `{end}` of this range, or up to the end of the template."""
    if depth > _MAX_RANGE_DEPTH:
        raise Said(f"error: jsonpath: more than {_MAX_RANGE_DEPTH} times {{range}} within each other", 2)
    out: list[Part] = []
    for action, text in parts:
        word = action.strip()
        if text:
            out.append(_text(text))
        elif word == "end":
            if not depth:
                raise Said("error: jsonpath: {end} without {range}", 2)
            return out
        elif word.startswith("range ") or word == "range":
            out.append(_range(word[5:].strip(), _block(parts, depth + 1)))
        elif word[:1] in ('"', "'"):
            out.append(_text(unquoted(word)))
        else:
            out.append(_path(word))
    return out  # a range without an end reaches to that of the template, as with kubectl


def _text(text: str) -> Part:
    return lambda root, here: [[text]]


def _path(path: str) -> Part:
    find = _bounded(path)
    return lambda root, here: [find(root if path.startswith("$") else here)]


def _range(path: str, inside: list[Part]) -> Part:
    find = _bounded(path)
    return lambda root, here: (each for item in find(here) for part in inside for each in part(root, item))


def finder(path: str) -> Callable[[Any], Sequence[Any]]:
    """The function from an object to the values at a path."""
    return _parsed(path).find


def _bounded(path: str) -> Callable[[Any], Sequence[Any]]:
    """A finder for a template, in which an index beyond the end of a list is an error."""
    from longshore.api.jsonpath import OutOfBounds

    parsed = _parsed(path)

    def find(obj: Any) -> Sequence[Any]:
        try:
            return parsed.found(obj)
        except OutOfBounds as err:
            raise Said(f'error: error executing jsonpath "{{{path}}}": {err}') from None

    return find


def _parsed(path: str) -> Path:
    from longshore.api import jsonpath as evaluator

    path = path.strip().removeprefix("{").removesuffix("}").removeprefix("@")
    if path and path[0] not in ".[$":
        path = "." + path
    try:
        return evaluator.parse(path)
    except evaluator.JSONPathError as err:
        raise Said(f"error: error parsing jsonpath {path}, {err}", 2) from None


def shown(value: Any) -> str:
    """A value as text: JSON for lists and objects."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def custom_columns(spec: str) -> Callable[[list[Obj]], str]:
    """`NAME:.metadata.name,…` as a table."""
    pairs = [part.partition(":") for part in spec.split(",")]
    if not spec or any(not path for _, _, path in pairs):
        raise Said(
            "error: custom-columns format specified but no custom columns given"
            if not spec
            else f"error: unexpected custom-columns spec: {spec}, expected <header>:<json-path-expr>",
            2,
        )
    finds = [finder(path) for _, _, path in pairs]

    def table(objects: list[Obj]) -> str:
        rows = [[header for header, _, _ in pairs]]
        for obj in objects:
            cells = [[shown(value) for value in find(obj)] for find in finds]
            rows.append([",".join(cell) if cell else "<none>" for cell in cells])
        return Columns().lines(rows)

    return table


# Text in quotes inside a template, by Go's rules: `"\n"`, `'\''`, `"\u00e9"`.

_QUOTED: Final = re.compile(r"\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'")
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([abfnrtv\\'\"])|(?s:.))"
)
_LETTERS: Final = dict(zip("abfnrtv\\", "\a\b\f\n\r\t\v\\", strict=True))


def unquoted(text: str) -> str:
    """The text between the quotes, with its escapes replaced."""
    match = _QUOTED.fullmatch(text)
    if match is None:
        raise Said(f"error: error parsing jsonpath {{{text}}}, unterminated quoted string", 2)
    quote, inner = text[0], match[1] if match[1] is not None else match[2]

    def character(escape: re.Match[str]) -> str:
        octal, *hexadecimal, letter = escape.groups()
        code = int(octal, 8) if octal else next((int(digits, 16) for digits in hexadecimal if digits), -1)
        if 0 <= code <= 0x10FFFF and not 0xD800 <= code < 0xE000:
            return chr(code)
        if letter and letter in _LETTERS:
            return _LETTERS[letter]
        if letter == quote:
            return quote
        raise Said(f"error: error parsing jsonpath {{{text}}}, unquote string {text} error invalid syntax", 2)

    return _ESCAPE.sub(character, inner)


# `--sort-by`: objects in the order of one of their fields, as kubectl has it.

Each = TypeVar("Each")


def by_field(things: Sequence[Each], path: str, obj: Callable[[Each], Any]) -> list[Each]:
    """Sorts by the field at `path` in the object of each thing: missing values, then numbers by size, then
    texts. Texts that are all quantities are compared as quantities: 9Gi is less than 10Gi."""
    find = finder(path)
    values = [(find(obj(thing)) or [None])[0] for thing in things]
    texts = _text_keys([str(value) for value in values if not isinstance(value, int | float | None)])
    order = sorted(range(len(things)), key=lambda i: _sort_key(values[i], texts))
    return [things[i] for i in order]


def _sort_key(value: Any, texts: dict[str, Any]) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    return (1, value) if isinstance(value, int | float) else (2, texts[str(value)])


def _text_keys(texts: Sequence[str]) -> dict[str, Any]:
    """The sort key of each text."""
    from longshore.api import quantity

    try:
        return {text: quantity.parse(text).amount for text in texts}
    except quantity.QuantityError:
        return {text: text for text in texts}
