"""The display on real terminals of all widths, without colours, in pipes, and from cron's environment."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from support.longshore_command import Command, on_terminal

WORK = ("sh", "-c", "[ $JOB_COMPLETION_INDEX != 3 ] || { echo it broke; exit 3; }; sleep 0.1")
COLOUR = re.compile(r"\x1b\[[0-9;]*[34][0-9][;m]")


@pytest.mark.parametrize("columns", [25, 40, 80, 200])
def test_the_count_is_seen_on_every_terminal(longshore: Command, columns: int) -> None:
    shown = on_terminal(
        ["run", "--completions", "12", "--parallelism", "3", "--name", "crew", "--", *WORK],
        longshore.home,
        longshore.environment(),
        columns=columns,
    )
    assert shown.exit == 1
    assert "Traceback" not in shown.text
    lines = [line.rstrip() for frame in shown.frames for line in frame.splitlines()]
    counts = [line for line in lines if re.match(r"crew +.*\d+/12", line)]
    assert counts
    assert all(len(line) <= columns for line in counts)
    assert any("11/12" in line for line in counts)
    active = [line for line in counts if "active" in line]
    assert all(("━" in line) == (columns >= 80) for line in active)
    if columns >= 80:
        assert any(set(line.strip()) <= set("█▓▒░") and line.strip() for line in lines)
    assert "job/crew failed: FailedIndexes" in shown.text, (
        "the end is told in full, on several lines if need be"
    )


def test_no_color_is_obeyed(longshore: Command) -> None:
    command = ["run", "--completions", "4", "--name", "crew", "--", *WORK]
    coloured = on_terminal(command, longshore.home, longshore.environment())
    plain = on_terminal(command, longshore.home, {**longshore.environment(), "NO_COLOR": "1"})
    assert COLOUR.search(coloured.raw)
    assert not COLOUR.search(plain.raw)
    assert "3/4" in plain.text


def test_pipes_get_lines_without_control_characters(longshore: Command) -> None:
    done = longshore("run", "--completions", "4", "--tag", "--name", "crew", "--", *WORK)
    assert done.exit == 1
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert done.stdout == "3\tit broke\n"


def test_a_full_pipe_on_a_terminal_ends_it_quietly(longshore: Command) -> None:
    script = (
        f"{sys.executable} -m longshore run --logs --name flood -- sh -c 'while :; do echo y; done' | head -2"
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        cwd=longshore.home,
        env=longshore.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (141, "y\ny\n")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("names", [(), ("HOME", "LOGNAME", "SHELL", "PATH")], ids=["nothing", "cron's"])
def test_an_empty_environment_is_enough(longshore: Command, names: tuple[str, ...]) -> None:
    cron = {"HOME": str(longshore.home), "LOGNAME": "me", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    environ = {"LONGSHORE_HOME": str(longshore.home / "data"), **{name: cron[name] for name in names}}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "longshore",
            "run",
            "--completions",
            "2",
            "-k",
            "--tag",
            "--",
            "sh",
            "-c",
            "echo hi",
        ],
        cwd=longshore.home,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "0\thi\n1\thi\n"), done.stderr
    assert "Traceback" not in done.stderr
