"""The catalogue of reasons: each code in use has its words, and each row is in use."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import longshore
from longshore.machinery import catalogue
from longshore.machinery.catalogue import ROWS, Place
from longshore.machinery.reasons import Reason
from longshore.machinery.records import Record

SOURCE = Path(longshore.__file__).parent
WORDS = Path(__file__).parent / "reasons.txt"
"""Reasons with sample numbers; below each one its words now, in a story, and its Event, where it has any."""


def cases() -> Iterator[tuple[str, dict[str, Any], dict[str, str]]]:
    for entry in re.split(r"\n(?! )", WORDS.read_text().strip()):
        first, *below = entry.split("\n")
        code, _, numbers = first.partition(" ")
        yield code, json.loads(numbers), dict(line.strip().split(": ", 1) for line in below)


CASES = list(cases())


@pytest.mark.parametrize(("code", "numbers", "expected"), CASES, ids=[code for code, _, _ in CASES])
def test_a_reason_has_these_words(code: str, numbers: dict[str, Any], expected: dict[str, str]) -> None:
    assert catalogue.now(code, numbers) == str(Reason(code, numbers)) == expected["now"]
    assert catalogue.story_words(code, numbers) == expected.get("then", "")
    assert catalogue.then(code, numbers) == expected.get("then", expected["now"])
    if "event" in expected:
        found = Reason(code, numbers).event
        assert f"{found.type} {found.reason}: {found.message}" == expected["event"]


def test_every_row_has_its_words_checked() -> None:
    assert set(ROWS) == {code for code, _, _ in CASES}
    assert {code for code, row in ROWS.items() if row.event is not None} <= {
        code for code, _, expected in CASES if "event" in expected
    }


def sources() -> str:
    return "\n".join(path.read_text() for path in SOURCE.rglob("*.py") if path.parent.name != "catalogue")


def test_every_code_in_use_has_a_row_and_every_row_is_used() -> None:
    text = sources()
    used = set(re.findall(r'\b(?:Reason|because|announce|event)\((?:[^()]|\([^()]*\))*?"([A-Z]\w+)"', text))
    assert len(used) > 100
    assert used <= set(ROWS)
    assert {code for code in ROWS if f'"{code}"' not in text and not code.startswith("Phase")} == set()


def test_no_event_is_made_beside_the_catalogue() -> None:
    """An Event needs a type, and the catalogue alone names types. The other places read Events, or mean an
    HTTP header or a distribution."""
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "catalogue" and re.search(r'"(Normal|Warning)"', path.read_text())
    }
    assert found == {"api/kinds/event.py", "apiserver/http/respond.py", "testing/__init__.py"}


_TELLING = ("Reason", "announce", "because", "event")


def test_a_reason_is_given_numbers_and_names_never_a_sentence() -> None:
    """A sentence beside the catalogue would need a second place for a new reason."""
    calls = [
        (path, call)
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "catalogue"
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in _TELLING
    ]
    assert len(calls) > 200
    texts = {
        f"{path.relative_to(SOURCE)}:{call.lineno}: {part.value}"
        for path, call in calls
        for part in ast.walk(call)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    assert {text for text in texts if " " in text.partition(": ")[2].strip()} == set()


def test_a_code_of_another_version_keeps_the_words_it_came_with() -> None:
    record = Record(1.0, "job", "ns", "x", "u", "Job controller", "Novelty", "does something new")
    assert record.words == record.then() == "does something new"
    assert catalogue.place("Novelty") is Place.LINE
    assert str(Reason("Novelty", {"message": "it says so"})) == "it says so"
    assert str(Reason("Novelty")) == "Novelty"


def test_a_record_without_the_numbers_of_its_row_keeps_its_text() -> None:
    record = Record(1.0, "job", "ns", "x", "u", "CronJob controller", "JobEnded", "job j-1 has ended: Failed")
    assert record.words == "job j-1 has ended: Failed"
