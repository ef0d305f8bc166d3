"""Every picture in README and docs is made by a tool, and shows what the tool shows today."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from handbook.pictures import counting, terminal_svg
from handbook.pictures.__main__ import DIAGRAMS, FOLDER
from handbook.pictures.scenes import SCENES
from handbook.pictures.terminal import Cell, Recording

from docs.test_links import written
from ui.pages_in_docs import IN_DOCS

PICTURES = sorted(FOLDER.glob("*.svg"))
SCREENSHOTS = sorted(FOLDER.glob("*.png"))
USED = {
    name for page in written() for name in re.findall(r"!\[[^\]]+\]\(\S*/pictures/(\S+)\)", page.read_text())
}


def test_every_picture_is_made_by_the_tool_and_every_one_is_shown() -> None:
    made = {f"{name}.svg" for name in (*DIAGRAMS, *SCENES)}
    assert {path.name for path in PICTURES} == made
    assert made | {path.name for path in SCREENSHOTS} == USED


def test_the_only_screenshots_are_those_that_the_tool_makes_of_the_dashboard() -> None:
    assert {path.name for path in SCREENSHOTS} == {f"ui-{name}.png" for name in IN_DOCS}
    assert all(path.stat().st_size < 200_000 for path in SCREENSHOTS)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_diagram_is_what_its_data_says(name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text() == DIAGRAMS[name](), "make it again with: make pictures"


@pytest.mark.parametrize("name", SCENES)
def test_a_recording_shows_the_commands_of_its_scene(name: str) -> None:
    drawn = ElementTree.fromstring((FOLDER / f"{name}.svg").read_text())
    lines = "".join(drawn.itertext()).replace(" ", "")
    for command in SCENES[name].commands:
        assert f"${command}".replace(" ", "") in lines, "record it again with: make pictures"
    assert not re.search(r"/(tmp|work|root)/", lines), "a path of the machine that recorded it"


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_stands_for_itself(path: object) -> None:
    text = path.read_text()  # type: ignore[attr-defined]
    assert "<title>" in text
    assert not re.search(r"href=|url\(|<script|@import", text), (
        "a picture that loads something from elsewhere"
    )


def test_a_film_shows_its_frames_in_turn_and_rests_on_the_last() -> None:
    def screen(word: str) -> tuple[tuple[Cell, ...], ...]:
        return ((Cell(word, "green", bold=True),), ())

    film = terminal_svg.film(Recording(20, [(0.0, screen("one")), (1.0, screen("<two>"))]), "a film")
    assert "&lt;two&gt;" in film
    assert "25.00%{transform:translateY(-27px)}" in film
    assert "prefers-reduced-motion" in film
    assert ">one<" not in terminal_svg.still(Recording(20, [(0.0, screen("two"))]), "a still")


def test_the_picture_of_counting_is_of_a_run_that_counted_once() -> None:
    rows = counting.writes()
    assert [row.succeeded for row in rows][-1] == 1
    assert [row.uncounted for row in rows].count(1) == 2
    assert rows[-1].condition == "Complete"
