"""`bench/gc.py --quick` works and says what it measured."""

from __future__ import annotations

import subprocess
import sys

from support.places import ROOT

BENCH = ROOT / "bench" / "gc.py"


def test_the_quick_bench_tells_rates_and_ratios() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH), "--quick"], capture_output=True, text=True, timeout=120, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("1 Jobs of 200 pods: ")
    assert lines[3].startswith("20 Jobs of 10 pods: ")
    for line in (*lines[1:3], *lines[4:6]):
        assert "of bare" in line
        assert "p99" in line
    assert lines[6].startswith("a Job of 50 pods with its controller: made in ")
