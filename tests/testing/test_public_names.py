"""`longshore.testing`: one list of names, all explained, on every operating system."""

from __future__ import annotations

import inspect
import subprocess
import sys

from longshore import testing

ELSEWHERE_MISSING = (
    "fcntl",
    "grp",
    "pty",
    "pwd",
    "readline",
    "resource",
    "syslog",
    "termios",
    "tty",
    "uvloop",
)
ONLY_ON_UNIX = ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "fork", "getuid", "sched_getaffinity", "uname")
"""Functions and flags of `os`."""
PROGRAM = f"""
import asyncio, os, ssl, subprocess, sys, tempfile  # what Python itself needs is there on every system
sys.modules.update(dict.fromkeys({ELSEWHERE_MISSING}))
for name in {ONLY_ON_UNIX}:
    delattr(os, name)
import longshore.testing
"""


def test_the_names_are_sorted_there_and_explained() -> None:
    assert sorted(testing.__all__) == testing.__all__
    for name in testing.__all__:
        assert inspect.getdoc(getattr(testing, name)), f"{name} says nothing of itself"


def test_importing_needs_nothing_that_only_some_systems_have() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
