"""`python -m handbook.pictures [NAME...]`: makes all pictures of the docs anew, or those named."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from handbook.pictures import boxes, counting, simulated, terminal, terminal_svg
from handbook.pictures.scenes import SCENES, Scene

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "pictures"
DIAGRAMS: dict[str, Callable[[], str]] = {
    "counting": counting.picture,
    "layers": boxes.layers,
    "sim-gpus": simulated.gpus,
    "sim-night": simulated.night,
    "store": boxes.store,
}
"""Pictures that come out the same each time; a test compares them with the files."""


def recorded(scene: Scene) -> str:
    seen = terminal.record(scene.commands, columns=scene.columns, rows=scene.rows, before=scene.before)
    return (terminal_svg.film if scene.is_film else terminal_svg.still)(seen, scene.title)


def main(names: list[str]) -> int:
    for name in names or [*DIAGRAMS, *SCENES]:
        text = DIAGRAMS[name]() if name in DIAGRAMS else recorded(SCENES[name])
        (FOLDER / f"{name}.svg").write_text(text)
        print(f"docs/pictures/{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
