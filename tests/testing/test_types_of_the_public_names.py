"""A user's file passes `mypy --strict`, and a wrong one does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.places import ROOT

FILE = Path(__file__).with_name("user_code.py")


def checked(file: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), str(file)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True)


def test_the_file_of_a_user_passes() -> None:
    done = checked(FILE)
    assert done.returncode == 0, done.stdout


def test_a_wrong_option_is_seen_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    calls = [f"Cluster({wrong})" for wrong in ('clock="fast"', 'node="kind"', 'seed="x"')]
    file.write_text("\n".join(["from longshore.testing import Cluster", "", *calls, ""]))
    assert checked(file).stdout.count("Argument ") == len(calls)
