"""A row of the catalogue: the words of a reason in two tenses, its place in a story, and its Event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

Numbers = Mapping[str, Any]
Words = str | tuple[str, ...] | Callable[[Numbers], str]
"""A form such as `creates {pods:pod}`, a function, or several forms: the first one whose numbers are all
known is used. `{pod:.0}` requires a number and shows nothing."""


class Place(Enum):
    """The place of a reason in the story of its object."""

    PASSING = "not kept: a look that found nothing to tell"
    STEP = "kept, without a line of its own: a step on the way to something that has one"
    WAITS = "a line of a gang that waits"
    LINE = "a line"
    VERDICT = "a line until the Job has ended, whose end says it again"
    END = "a line that ends the story"


class Event(NamedTuple):
    """An Event about an object. In a row, an empty reason means the code, an empty message `now`."""

    type: str
    reason: str = ""
    message: str = ""


class Row(NamedTuple):
    now: Words
    """The words in the present tense, without a full stop."""
    then: Words = ""
    """The words in a story; if empty, `now` is used. A pod's story shows only rows that have these words,
    because Events say the rest."""
    place: Place = Place.LINE
    event: Event | None = None


def passing(*forms: str) -> Row:
    return Row(forms, place=Place.PASSING)


def step(*forms: str) -> Row:
    return Row(forms, place=Place.STEP)


def waits(*forms: str) -> Row:
    return Row(forms, place=Place.WAITS)


def verdict(message: str) -> Row:
    """The row of a condition that a Job gets before it ends. The Warning Event comes with the Job's end."""
    return Row("{type} {code}: {message}", place=Place.VERDICT, event=Event("Normal", "", message))


def normal(*forms: str, reason: str = "") -> Row:
    """The row of a Normal Event, in the words of the reason."""
    return Row(forms, event=Event("Normal", reason))


def warning(*forms: str, reason: str = "") -> Row:
    """The row of a Warning Event, in the words of the reason."""
    return Row(forms, event=Event("Warning", reason))
