"""Output on streams that are full, closed or of another encoding: told in a line, never by a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.longshore_command import Command

LONGSHORE = f"{sys.executable} -m longshore"


def shell(home: Path, script: str) -> subprocess.CompletedProcess[bytes]:
    env = Command(home).environment()
    return subprocess.run(["bash", "-c", script], cwd=home, env=env, capture_output=True, timeout=60)


@pytest.mark.parametrize("words", ["", "--help", "help", "get --help", "version"])
def test_help_that_cannot_be_written_is_told(tmp_path: Path, words: str) -> None:
    done = shell(tmp_path, f"{LONGSHORE} {words} >/dev/full")
    assert (done.returncode, done.stderr) == (1, b"longshore: No space left on device\n")


def test_a_complaint_that_nobody_can_read_keeps_its_exit_code(tmp_path: Path) -> None:
    assert shell(tmp_path, f"{LONGSHORE} nope 2>/dev/full").returncode == 2


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8:strict"])
def test_output_is_utf_8_whatever_the_locale_says(tmp_path: Path, encoding: str) -> None:
    done = shell(tmp_path, f"PYTHONIOENCODING={encoding} {LONGSHORE} get --help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "TYPE NAME…".encode() in done.stdout
