"""Planted faults: one line or two each that break a promise. A simulation that misses them proves nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.places import ROOT

MAX_SEEDS = 2000
"""A fault that takes more seeds counts as not found."""
QUICK = (
    "the finalizer goes before the status is written",
    "what was just created is forgotten",
    "a failed pod is listed a second time",
    "counters move while the finalizer is there",
    "pods are killed before the verdict is written",
    "a scheduler ignores requests",
    "backoffLimit is off by one",
    "a back-off never grows",
    "a node gives no grace period",
)
"""Faults that were found within 60 seeds from 0 on, as bugs-found.md tells: CI plants some of these."""


class Plant(NamedTuple):
    name: str
    file: str
    """Below src/longshore."""
    old: str
    """Lines that occur once in the file."""
    new: str


def _plants() -> Iterator[Plant]:
    """The paragraphs of `plants.txt`: a name, a file, the lines that go, and those that come."""
    for paragraph in Path(__file__).with_name("plants.txt").read_text().split("\n\n"):
        name, file, *lines = paragraph.rstrip("\n").split("\n")
        old, new = ("".join(line[2:] + "\n" for line in lines if line[0] == sign) for sign in "-+")
        yield Plant(name, file, old, new)


PLANTS = (*_plants(),)


def planted(plant: Plant, folder: Path) -> None:
    """Copies the package to a folder, with this fault in it."""
    shutil.copytree(
        ROOT / "src/longshore", folder / "longshore", ignore=shutil.ignore_patterns("__pycache__")
    )
    file = folder / "longshore" / plant.file
    text = file.read_text()
    assert text.count(plant.old) == 1, f"{plant.name}: {text.count(plant.old)} places in {plant.file}"
    file.write_text(text.replace(plant.old, plant.new))


def seeds_needed(plant: Plant, jobs: int, first: int, most: int = MAX_SEEDS) -> tuple[int | None, str]:
    """How many seeds it takes to find the fault, and what is said then; None if it is not found in `most`."""
    with tempfile.TemporaryDirectory() as name:
        planted(plant, Path(name))
        environment = {**os.environ, "PYTHONPATH": f"{name}:{ROOT / 'tests'}"}
        command = [sys.executable, "-m", "simulation.hunt", str(first), str(most), str(jobs)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{plant.name}: {done.stderr}")
    number, _, said = done.stdout.strip().partition(" ")
    return (int(number) if number else None), said


def run(names: list[str], jobs: int, first: int, most: int = MAX_SEEDS) -> int:
    """Plants the named faults, or all, one after the other, and prints the table."""
    chosen = [plant for plant in PLANTS if not names or plant.name in names]
    missed = 0
    print("| fault | seeds needed | found by |\n| --- | --- | --- |")
    for plant in chosen:
        number, said = seeds_needed(plant, jobs, first, most)
        missed += number is None
        print(f"| {plant.name} | {number or f'not in {most}'} | {said.partition(':')[0]} |", flush=True)
    return 1 if missed else 0
