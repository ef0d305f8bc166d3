"""A whole control plane on the virtual clock does the same again, write by write, in another process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.places import ROOT

PROGRAM = Path(__file__).with_name("virtual_trace.py")


def traces(*runs: tuple[int, int]) -> list[bytes]:
    """What the program prints, per seed of the run and of Python's hashes."""
    started = [
        subprocess.Popen(
            [sys.executable, PROGRAM, str(seed)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": str(hashes), "PYTHONPATH": str(ROOT / "tests")},
        )
        for seed, hashes in runs
    ]
    out = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(runs)
    return out


def test_the_same_seed_gives_the_same_writes_at_the_same_times() -> None:
    one, again, other = traces((7, 1), (7, 2), (8, 1))
    assert one.count(b"\n") > 200
    assert one == again
    assert one != other
