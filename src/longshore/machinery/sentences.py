"""How numbers, lists of indexes, spans of time and quotations are written in sentences."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from longshore.api import field
from longshore.api.time import rfc3339

OUT_OF_MEMORY: Final = "OOMKilled"
_MAX_QUOTED: Final = 100
"""Most characters of a quotation."""
_NUMBERS: Final = ("no", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def counted(many: int, noun: str) -> str:
    """A number with its noun: `1 pod`, `3 pods`, `2 indexes`."""
    if many == 1:
        return f"1 {noun}"
    return f"{many} {noun}es" if noun.endswith("x") else f"{many} {noun}s"


def ordinal(number: int) -> str:
    """An ordinal number: `first`, `second`, `12th`."""
    if number < len(_NUMBERS):
        return _NUMBERS[number]
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def ranges(listed: str) -> str:
    """Indexes as people write them: `0-2,5` becomes `0–2, 5`."""
    return ", ".join(part.replace("-", "–") for part in listed.split(","))


def quoted(text: str) -> str:
    """The last line of a text, in quotes; empty if the text is empty."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    last = lines[-1]
    return f'"{last if len(last) <= _MAX_QUOTED else last[: _MAX_QUOTED - 1] + "…"}"'


def exit_words(code: object, reason: str, memory: str = "") -> str:
    """The end of a container: `exit code 3`, `out of memory (exit code 137, the limit is 64Mi)`."""
    if reason != OUT_OF_MEMORY:
        return f"exit code {code}"
    return f"out of memory (exit code {code}{f', {memory}' if memory else ''})"


def stamp(seconds: float) -> str:
    """A time as RFC 3339 text; when shown, it is converted to the reader's time zone."""
    return rfc3339.from_seconds(seconds)


def span(seconds: float) -> str:
    """A duration: `10 s`, `5 min`, `2 h`, `1.5 h`."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or seconds == size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


# ---- forms of sentences

_SPECS: Final[Mapping[str, Callable[[Any], str]]] = {
    "listed": lambda listed: f"index{'' if str(listed).isdigit() else 'es'} {listed}",
    "quoted": field.quoted,
    "ranges": lambda listed: f"index{'' if str(listed).isdigit() else 'es'} {ranges(str(listed))}",
    "span": lambda seconds: span(float(seconds)),
}


class _Formatter(string.Formatter):
    """Python's format strings, in which a word after the colon is a form of `_SPECS` or a counted noun:
    `{pods:pod}` is `3 pods`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if (write := _SPECS.get(format_spec)) is not None:
            return write(value)
        if len(format_spec) > 1 and format_spec[0].isalpha():
            return counted(int(value), format_spec)
        return format(value, format_spec)


_FORMATTER: Final = _Formatter()


@lru_cache(maxsize=1024)
def _parsed(form: str) -> tuple[frozenset[str], Callable[[Mapping[str, object]], str]]:
    """The names in a form, and the function that fills it in: Python's own if `_SPECS` is not needed."""
    parts = [*_FORMATTER.parse(form)]
    names = frozenset(name for _, name, _, _ in parts if name)
    if any(spec for _, _, spec, _ in parts):
        return names, lambda numbers: _FORMATTER.vformat(form, (), numbers)
    return names, form.format_map


def filled(forms: tuple[str, ...], numbers: Mapping[str, object]) -> str:
    """The first of these forms whose numbers are all known, filled in; empty if there is none."""
    for form in forms:
        names, fill = _parsed(form)
        if names <= numbers.keys():
            return fill(numbers)
    return ""
