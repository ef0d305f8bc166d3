"""The recorded scenarios come true while every hundredth request goes wrong and watches break.

Part of `make test-simulation`. Two things may differ from the recording, since a retry is seen in them:

| what | why |
| --- | --- |
| events | one whose write was lost is missing; a failed write is told (`FailedCreate`, `PodGroupError`) |
| measured times | a retry has its pause |

A snapshot may also fall between a failed write and its retry. Nobody can tell that from an outcome that is
wrong, so such a scenario is played again, with other dice; it has to come true in one of three plays.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from simulation.kits import kit_player
from simulation.kits.judged_differences import judged
from simulation.kits.kit_player import Problems, Trouble

pytestmark = pytest.mark.skipif(
    not os.environ.get("LONGSHORE_TEST_SIMULATION"), reason="make test-simulation runs this"
)
SEED, RATE, PLAYS = 20261117, 0.01, 3
MAX_AGAIN = 25
"""Scenarios of a kit that may need another play. With eight seeds it were two on average, and once eight."""
MIN_FAULTS = 50
"""Of the first play; 120 to 190 were counted."""


def test_differences_are_judged_by_where_they_are() -> None:
    explained = ["snapshot a: events: lists differ", "    + x", "measure m: took: longer"]
    wrong = ["snapshot a: jobs.j: unexpected", "    y"]
    assert [*judged(explained + wrong)] == wrong


@pytest.mark.parametrize(
    ("kit", "play"),
    [(kit_player.JOBS, kit_player.play_jobs), (kit_player.VOLCANO, kit_player.play_volcano)],
    ids=["jobs", "volcano"],
)
def test_every_recorded_scenario_comes_true_while_requests_fail(
    kit: Path, play: Callable[..., Problems]
) -> None:
    happened: Counter[str] = Counter()
    left = {file.stem for file in (kit / "expected").glob("*.json")}
    for number in range(PLAYS):
        played = play(left.__contains__, trouble=Trouble(SEED + number, RATE, happened))
        assert set(played) == left
        wrong = {name: found for name, said in played.items() if (found := [*judged(said)])}
        left = set(wrong)
        if not number:
            assert happened.total() >= MIN_FAULTS, happened
            assert len(left) <= MAX_AGAIN, wrong
        if not left:
            break
    assert wrong == {}
