"""The benchmark of the scheduler runs; what it measures is for people."""

from __future__ import annotations

import subprocess
import sys

from support.places import ROOT

SCRIPT = ROOT / "bench" / "scheduler.py"


def test_it_prints_both_rates_and_their_ratio() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "pods scheduled" in done.stdout
    assert "of bare" in done.stdout
