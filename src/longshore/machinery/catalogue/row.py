"""A row of the catalogue: the words of a reason in two tenses, its place in a story, and its Event."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

Numbers = Mapping[str, Any]
Words = str | tuple[str, ...] | Callable[[Numbers], str]
"""A form such as `creates {pods:pod}`, a function, or several forms: the first one whose numbers are all
known is used. `{pod:.0}` requires a number and shows nothing."""


_TENSES: Final = re.compile(r"\[([^]|]*)\|([^]]*)\]")


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


def line(*forms: str) -> Row:
    """The row of a line. A form with `[creates|created]` has words for stories."""
    return in_tenses(forms) if any(map(_TENSES.search, forms)) else Row(forms)


def in_tenses(words: Words, event: Event | None = None) -> Row:
    """The row of words with `[creates|created]`: the first in the present tense, the second in a story."""

    def said(tense: str) -> Words:
        if callable(words):
            return lambda numbers: _TENSES.sub(tense, words(numbers))
        return tuple(_TENSES.sub(tense, form) for form in ((words,) if isinstance(words, str) else words))

    return Row(said(r"\1"), said(r"\2"), event=event)


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
