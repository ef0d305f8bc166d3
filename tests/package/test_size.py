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
    "api": (178, 23_200),
    "apiserver": (153, 17_017),
    "cli": (128, 16_800),
    "client": (37, 4_217),
    "controllers": (183, 15_419),
    "machinery": (51, 5_099),
    "node": (118, 16_154),
    "plane": (16, 1_687),
    "scheduler": (79, 8_890),
    "scripts": (7, 1_036),
    "sim": (16, 2_047),
    "store": (31, 3_009),
    "testing": (40, 5_412),
    "ui": (2, 56),
    "up": (40, 4_300),
    "why": (22, 2_849),
}
"""Files and lines, at most."""
HELPERS = 15_592
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
