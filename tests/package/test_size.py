"""The size of the house: ceilings by room, which only go down.

A change that makes a room smaller lowers its row. A capability that needs more raises the row of the room it
lives in, in a commit that says why.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import longshore

PACKAGE = Path(longshore.__file__).parent
TESTS = Path(__file__).parents[1]

ROOMS = {
    "api": (175, 22_785),
    "apiserver": (139, 16_717),
    "cli": (130, 17_916),
    "client": (31, 4_275),
    "controllers": (150, 14_986),
    "machinery": (48, 5_261),
    "node": (117, 16_079),
    "plane": (12, 1_763),
    "scheduler": (70, 8_806),
    "scripts": (7, 1_037),
    "sim": (15, 3_022),
    "store": (25, 2_960),
    "testing": (29, 5_241),
    "ui": (2, 56),
    "up": (35, 4_247),
    "why": (22, 2_825),
}
"""Files and lines, at most."""
HELPERS = 14_595
"""Lines of Python below tests/ that hold no test, at most."""


def _lines(files: list[Path]) -> int:
    return sum(len(file.read_text().splitlines()) for file in files)


@pytest.mark.parametrize(
    "room", sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())
)
def test_a_room_is_no_larger_than_its_ceiling(room: str) -> None:
    files = [*(PACKAGE / room).rglob("*.py")]
    most_files, most_lines = ROOMS[room]
    assert len(files) <= most_files
    assert _lines(files) <= most_lines


def test_helpers_of_tests_are_no_larger_than_their_ceiling() -> None:
    helpers = [
        file
        for file in TESTS.rglob("*.py")
        if not file.name.startswith("test_") and not file.is_relative_to(TESTS / "recorded")
    ]
    assert _lines(helpers) <= HELPERS
