"""Help is as wide as the terminal, as argparse has it."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys

import pytest

from longshore.cli.arguments import parsers


@pytest.mark.parametrize("said", ["57", "0", "-3", "wide", None])
def test_the_environment_says_how_wide(monkeypatch: pytest.MonkeyPatch, said: str | None) -> None:
    if said is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", said)
    assert parsers.columns() == shutil.get_terminal_size().columns


def test_a_terminal_says_how_wide() -> None:
    near, far = pty.openpty()
    script = (
        "import shutil, sys, termios; termios.tcsetwinsize(1, (24, 66)); "
        "from longshore.cli.arguments import parsers; "
        "sys.exit([parsers.columns(), shutil.get_terminal_size().columns] != [66, 66])"
    )
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    try:
        ended = subprocess.run([sys.executable, "-c", script], stdout=far, env=environ)
    finally:
        os.close(near)
        os.close(far)
    assert ended.returncode == 0


def test_a_short_command_does_without_the_modules_that_cost_most() -> None:
    script = (
        "import sys; from longshore.cli.arguments import parsers; parsers.parser('get'); "
        "sys.exit(bool({'shutil', 'yaml'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
