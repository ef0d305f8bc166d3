"""The list of planted faults is true, and one of them is found here; `make test-simulation` plants others."""

from __future__ import annotations

import pytest

from simulation import plants
from simulation.plants import PLANTS, Plant
from support.places import ROOT


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_planted_fault_changes_one_place(plant: Plant) -> None:
    text = (ROOT / "src/longshore" / plant.file).read_text()
    assert text.count(plant.old) == 1


def test_names_are_unique_and_many() -> None:
    assert len({plant.name for plant in PLANTS}) == len(PLANTS) >= 20
    assert set(plants.QUICK) <= {plant.name for plant in PLANTS}


def test_a_planted_fault_is_found() -> None:
    plant = next(each for each in PLANTS if each.name == "a failed look is not repeated")
    number, said = plants.seeds_needed(plant, jobs=1, first=0)
    assert number is not None
    assert said
