"""What an expression consists of, once read."""

from __future__ import annotations

from dataclasses import dataclass

from longshore.api.structural.regex.characters import Set


@dataclass(frozen=True, slots=True)
class Repeat:
    """The part between `least` and `most` times; None is any number of times."""

    part: Part
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Either:
    """One of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """The parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Place:
    r"""A place between characters: `\A`, `\z`, `\b`, `\B`, or `^` and `$` of lines."""

    what: str


Part = Set | Repeat | Either | Row | Place
