"""Several simulations are played in several processes, and nobody can tell from the answer."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore.cli.simulating import playing
from longshore.sim.settings import SimSettings, nodes
from longshore.sim.simulate import simulate
from sim.worlds import HOUR, START, ZONE, job
from support.places import ROOT

GPUS = str(ROOT / "examples/sim/gpus.yaml")


def asked(name: str, seed: int) -> SimSettings:
    return SimSettings([job(name)], START, ZONE, HOUR, until_done=True, seed=seed, nodes=nodes(1, {}))


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)


def test_results_come_in_the_order_of_the_questions() -> None:
    questions = [asked(name, seed) for name in ("a", "b") for seed in (1, 2)]
    assert playing.play(questions) == [simulate(each) for each in questions]


def test_processes_are_not_ended_by_a_signal_that_one_could_survive(tmp_path: Path) -> None:
    """They inherit handlers of this process: one that raised amid a weak reference's callback was ignored."""
    seen = tmp_path / "seen"
    before = signal.signal(signal.SIGTERM, lambda *_: seen.touch())
    try:
        playing.play([asked("a", seed) for seed in (1, 2)])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not seen.exists()


def test_a_manifest_that_the_api_refuses_is_told_from_the_other_process(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sim", GPUS, "--set", "vcjob/small.spec.minAvailable=-1,-2"]) == 2
    assert "minAvailable" in capsys.readouterr().err
