"""The benchmark of the engine works; how fast it says it is does not matter here."""

from __future__ import annotations

import subprocess
import sys

from support.places import ROOT


def test_the_benchmark_prints_a_line_for_each_kind() -> None:
    command = [sys.executable, str(ROOT / "bench" / "keeper.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    words = [line.split()[0] for line in done.stdout.splitlines()]
    assert words == ["containers", "plain", "message", "mount", "pod-like", "user", "the"]
