"""The controllers do in virtual time what those of Kubernetes and Volcano did on real clusters."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from simulation.kits import kit_player
from simulation.kits.kit_player import Problems

SHORTCUTS = os.environ.get("LONGSHORE_SHORTCUTS") != "off"


@pytest.mark.parametrize(
    ("kit", "play"),
    [(kit_player.JOBS, kit_player.play_jobs), (kit_player.VOLCANO, kit_player.play_volcano)],
    ids=["jobs", "volcano"],
)
def test_every_recorded_scenario_goes_in_the_simulator_as_it_went_in_a_cluster(
    kit: Path, play: Callable[..., Problems]
) -> None:
    problems = play(lambda name: True, shortcuts=SHORTCUTS)
    assert {name: said for name, said in problems.items() if said} == {}
    assert set(problems) == {file.stem for file in (kit / "expected").glob("*.json")}
