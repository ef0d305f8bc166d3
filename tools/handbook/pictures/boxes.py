"""Diagrams of boxes: the layers that import-linter checks, and the way of a write through the store."""

from __future__ import annotations

import tomllib
from pathlib import Path

from handbook.pictures import drawing

ROOT = Path(__file__).resolve().parents[3]

_STORE_STEPS = (
    ("stage", "the next revision, and the object's bytes", "only the next writer sees it"),
    ("batch", "all writes since the last transaction began", "nobody waits for a timer"),
    ("commit", "one INSERT into SQLite's journal", "a crash before this line loses it, and nobody was told"),
    (
        "publish",
        "lists and watches see it, all of a batch at once",
        "every watcher, in the order of revisions",
    ),
    ("answer", "the writer is told that it is done", "a crash after this line loses nothing"),
)
"""Name, what happens, and what holds then; `docs/explanation/store.md` tells it in words."""


def layers() -> str:
    """The contract in pyproject.toml, drawn: each layer imports from those under it only."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows = next(each for each in contracts if each["name"].startswith("each layer"))["layers"]
    parts = []
    for number, row in enumerate(rows):
        names = [name.strip().removeprefix("longshore.") for name in row.split("|")]
        width = (560 - 8 * (len(names) - 1)) / len(names)
        for column, name in enumerate(names):
            x, y = 20 + column * (width + 8), 20 + number * 44
            parts.append(drawing.box(x, y, width, 36, drawing.TINTS[number % len(drawing.TINTS)]))
            parts.append(drawing.text(x + width / 2, y + 23, name, anchor="middle", bold=True))
    return drawing.svg(
        600, 32 + len(rows) * 44, "The layers of longshore, each on those it imports from", parts
    )


def store() -> str:
    parts = []
    for number, (name, what, holds) in enumerate(_STORE_STEPS):
        y = 20 + number * 70
        parts.append(drawing.box(20, y, 130, 44, drawing.TINTS[number % len(drawing.TINTS)]))
        parts.append(drawing.text(85, y + 27, name, anchor="middle", bold=True))
        parts.append(drawing.text(170, y + 19, what))
        parts.append(drawing.text(170, y + 39, holds, colour=drawing.FAINT, size=13))
        if number + 1 < len(_STORE_STEPS):
            parts.append(drawing.arrow(85, y + 46, 22))
    return drawing.svg(660, 20 + len(_STORE_STEPS) * 70, "How a write travels through the store", parts)
