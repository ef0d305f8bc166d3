"""Closed streams, full disks, a directory that is gone, bytes that are no text: told in a sentence, with an
exit code, and never by a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.longshore_command import Command

RUN = f"{sys.executable} -m longshore run"


def shell(longshore: Command, script: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=longshore.home,
        env=longshore.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("script", "code", "out"),
    [
        ("-- echo hi >&-", 0, ""),
        ("-- echo hi 2>&-", 0, "hi\n"),
        ("-- echo hi <&-", 0, "hi\n"),
        ("-- echo hi 2>/dev/full", 0, "hi\n"),
    ],
)
def test_closed_and_full_streams_stop_no_work(longshore: Command, script: str, code: int, out: str) -> None:
    done = shell(longshore, f"{RUN} {script}")
    assert (done.returncode, done.stdout) == (code, out), done.stderr


@pytest.mark.parametrize("flags", ["--", "--completions 2 --tag --", "-o json --"])
def test_output_that_cannot_be_written_is_told(longshore: Command, flags: str) -> None:
    done = shell(longshore, f"{RUN} {flags} echo hi >/dev/full")
    assert done.returncode == 1
    assert "output is missing, as it could not be written: No space left on device" in done.stderr


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (f"{RUN} --joblog /nowhere/log -- true", "--joblog /nowhere/log: No such file or directory"),
        (f"{RUN} --joblog /dev/full -- true", "--joblog /dev/full: No space left on device"),
        (f"mkdir gone; cd gone; rmdir ../gone; {RUN} -- true", "the current directory is gone"),
        (f"{RUN} -- echo $'\\xff'", "is not UTF-8 text: give such arguments with --each"),
        (f"X=$'\\xff' {RUN} --env X -- true", "--env X: its value is not UTF-8 text"),
    ],
)
def test_bad_input_is_found_before_anything_starts(longshore: Command, script: str, message: str) -> None:
    done = shell(longshore, script)
    assert done.returncode == 2
    assert message in done.stderr
    assert "created" not in done.stderr


def test_a_variable_that_is_no_text_does_not_keep_the_others_back(longshore: Command) -> None:
    done = shell(longshore, f"X=$'\\xff' Y=y {RUN} --env-all -- sh -c 'echo $X$Y'")
    assert (done.returncode, done.stdout) == (0, "y\n"), done.stderr
