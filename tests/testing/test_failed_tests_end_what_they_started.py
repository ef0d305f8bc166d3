"""Tests of this suite that fail or are interrupted: their processes end, and failures so far are reported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support import living_processes
from support.places import ROOT

TESTS = """
import subprocess

def test_fails():
    subprocess.run(["sh", "-c", "setsid sleep SLEEP & exit 1"], check=True)

def test_passes():
    pass

def test_hangs():
    open("hangs", "w").close()
    subprocess.run(["sh", "-c", "setsid sleep SLEEP & wait"])
"""


def started(directory: Path, seconds: str, *words: str) -> subprocess.Popen[str]:
    (directory / "test_it.py").write_text(TESTS.replace("SLEEP", seconds))
    plugins = ["-p", "support.left_behind", "-p", "no:cacheprovider", "-p", "no:asyncio"]
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            *plugins,
            "-c",
            os.devnull,
            "--rootdir",
            ".",
            "test_it.py",
            *words,
        ],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_test_that_fails_ends_what_it_started(tmp_path: Path) -> None:
    seconds = living_processes.unique_seconds()
    told, _ = started(tmp_path, seconds, "-k", "not hangs").communicate(timeout=60)
    assert "1 failed, 1 passed" in told
    assert living_processes.ends(f"sleep {seconds}")


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_tests_report_failures_and_end_what_they_started(
    tmp_path: Path, number: signal.Signals, workers: str
) -> None:
    seconds = living_processes.unique_seconds()
    running = started(tmp_path, seconds, "-n", workers, "--dist", "loadfile")
    assert running.stdout is not None
    told = ""
    while "F." not in told:  # the first two tests are reported
        told += running.stdout.read(1) or pytest.fail(told)
    while not living_processes.living(f"sleep {seconds}") or not (tmp_path / "hangs").exists():
        assert running.poll() is None
    running.send_signal(number)
    told += running.communicate(timeout=60)[0]
    assert "FAILED test_it.py::test_fails" in told
    assert running.returncode == 2
    assert living_processes.ends(f"sleep {seconds}")
