"""One seed is one run: the same changes at the same moments, in any process and under any hash seed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

from simulation import drawing, world
from support.places import ROOT

SEEDS = (15, 31, 1091)


def digest(seed: int) -> str:
    found = hashlib.sha256()
    for change in world.play(drawing.scenario(seed)).changes:
        found.update(f"{change.at:.6f} {change.type} {change.key} {change.obj}".encode())
    return found.hexdigest()


def in_a_process(hash_seed: int) -> list[str]:
    program = f"from simulation.test_same_seed_same_run import *; print(*map(digest, {SEEDS}))"
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_a_seed_gives_the_same_run_in_every_process() -> None:
    assert in_a_process(1) == in_a_process(2) == [digest(seed) for seed in SEEDS]
