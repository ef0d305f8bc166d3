"""Airflow ends its side container with an interrupt for all shells of the user: those outside are not hit.

All of it, longshore and its keeper too, runs in a PID namespace that the test makes. When walls do not hold,
nobody else is hit.
"""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.other_users import answer_of, python_of_everybody

USER = 12345
PEOPLE = ["root", "user"] if os.geteuid() == 0 else ["user"]
UNSHARE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
IN_USER_NAMESPACE = ("--user", "--map-current-user")
pytestmark = [
    pytest.mark.skipif(shutil.which("pgrep") is None, reason="pgrep is not installed (procps)"),
    pytest.mark.xdist_group("walls"),
]


@functools.cache
def _own_namespace() -> tuple[str, ...]:
    words = UNSHARE if os.geteuid() == 0 else (*UNSHARE, *IN_USER_NAMESPACE)
    try:
        tried = subprocess.run([*words, "true"], capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"no PID namespace can be made: {error}")
    if tried.returncode:
        pytest.skip(f"no PID namespace can be made: {tried.stderr}")
    return words


def _trial(level: str, who: str) -> dict[str, object]:
    words, python = list(_own_namespace()), sys.executable
    directory = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        if who == "user" and os.geteuid() == 0:
            python = python_of_everybody()
            os.chown(directory, USER, USER)
            words += ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
        found: dict[str, object] = answer_of([*words, python], "support.xcom_case", level, directory)
        return found
    finally:
        shutil.rmtree(directory)


@pytest.mark.parametrize("who", PEOPLE)
def test_an_interrupt_for_all_shells_ends_the_container_it_is_run_in_and_nothing_else(who: str) -> None:
    assert _trial("process", who) == {"side": 0, "main": True, "outside": None, "longshore": None}


def test_without_walls_the_same_command_hits_a_shell_outside() -> None:
    assert _trial("none", PEOPLE[0]) == {"outside": -signal.SIGINT}
