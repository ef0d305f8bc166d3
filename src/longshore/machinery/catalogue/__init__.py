"""The catalogue of reasons: one row a code, with its words, its place in a story and its Event.

A `decide` returns codes and numbers. Events, `longshore why`, the dashboard and `run` fill in the rows of
this folder, so that a reason has the same words everywhere. A new reason is a row, and an entry of
`tests/machinery/reasons.txt`. Messages of Events and conditions are upstream's, to the letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.machinery.catalogue import gangs, jobs, namespaces_and_volumes, pods
from longshore.machinery.catalogue.row import Event, Numbers, Place, Row, Words
from longshore.machinery.sentences import filled

__all__ = ["ROWS", "Event", "Place", "event", "now", "place", "story_words", "then"]

ROWS: Final[Mapping[str, Row]] = {**jobs.ROWS, **gangs.ROWS, **pods.ROWS, **namespaces_and_volumes.ROWS}
_UNKNOWN: Final = Row("")
"""The row of a code that this version does not know: of another version, or of a foreign controller."""
_NORMAL: Final = Event("Normal")


def now(code: str, numbers: Numbers, otherwise: str = "") -> str:
    """The words of a reason; `otherwise` if the catalogue has none for these numbers."""
    return _said(_row(code).now, code, numbers) or otherwise or str(numbers.get("message") or code)


def then(code: str, numbers: Numbers, otherwise: str = "") -> str:
    """The words of a reason in a story; those in the present tense if the row has no words for stories."""
    return story_words(code, numbers) or now(code, numbers, otherwise)


def story_words(code: str, numbers: Numbers) -> str:
    """The words that a row has for stories only; empty if it has none for these numbers."""
    return _said(_row(code).then, code, numbers)


def place(code: str) -> Place:
    """The place of a reason in a story."""
    return _row(code).place


def event(code: str, numbers: Numbers) -> Event:
    """The Event of a reason; if its row names none, a normal Event in the words of the reason."""
    type_, reason, message = _row(code).event or _NORMAL
    known = {**numbers, "code": code}
    name, text = reason and filled((reason,), known), message and filled((message,), known)
    return Event(type_, name or code, text or now(code, numbers))


def _row(code: str) -> Row:
    return ROWS.get(code, _UNKNOWN)


def _said(words: Words, code: str, numbers: Numbers) -> str:
    known = {**numbers, "code": code}
    if callable(words):
        return words(known)
    return filled((words,) if isinstance(words, str) else words, known)
