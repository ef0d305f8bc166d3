"""`-o jsonpath=…`, `jsonpath-as-json=…` and `custom-columns=…`: text with paths in braces, ranges and quotes.

Paths are read by the same evaluator as the printer columns of custom resources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from longshore.api.types import Obj
from longshore.cli.main import Said
from longshore.cli.printing import quoted_text
from longshore.cli.printing.columns import Columns

if TYPE_CHECKING:
    from longshore.api.jsonpath import Path

_PART: Final = re.compile(r"\{((?:[^{}\"']|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')*)\}|([^{]+)", re.S)
Part: TypeAlias = Callable[[Any, Any], Iterable[Sequence[Any]]]
"""From the root and the current value to the values of a part of a template; several times within a range."""


def jsonpath(template: str) -> Callable[[Any], str]:
    """The function that fills in a template."""
    return _filled(template, lambda values: " ".join(map(shown, values)))


def jsonpath_as_json(template: str) -> Callable[[Any], str]:
    """The function that writes each part of a template as a JSON list."""
    from longshore.cli.printing import objects

    return _filled(template, lambda values: objects.as_json([*values]))


def _filled(template: str, write: Callable[[Sequence[Any]], str]) -> Callable[[Any], str]:
    parts = _block(iter(_PART.findall(_checked(template))), closed=False)
    return lambda obj: "".join(write(values) for part in parts for values in part(obj, obj))


def _checked(template: str) -> str:
    if _PART.sub("", template):
        raise Said(f"error: error parsing jsonpath {template}, unclosed action", 2)
    return template


def _block(parts: Iterator[tuple[str, str]], *, closed: bool) -> list[Part]:
    """The parts up to `{end}`, or up to the end of the template."""
    out: list[Part] = []
    for action, text in parts:
        word = action.strip()
        if text:
            out.append(_text(text))
        elif word == "end":
            if not closed:
                raise Said("error: jsonpath: {end} without {range}", 2)
            return out
        elif word.startswith("range ") or word == "range":
            out.append(_range(word[5:].strip(), _block(parts, closed=True)))
        elif word[:1] in ('"', "'"):
            out.append(_text(quoted_text.unquoted(word)))
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
    """A finder for a template: there an index beyond the end of a list is an error."""
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
