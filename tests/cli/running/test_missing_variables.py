"""The hint for a command that fails for lack of a variable which the caller has."""

from __future__ import annotations

import os

import pytest

from longshore.cli.running.shorthand import missing
from support.longshore_command import Command

HERE = {"TOKEN": "x", "API_URL": "y", "HOME": "/h", "PATH": os.environ["PATH"]}
PASSED = {"HOME": "/h", "PATH": HERE["PATH"]}


@pytest.mark.parametrize(
    "line",
    [
        "bash: line 1: TOKEN: unbound variable",
        "sh: 1: TOKEN: parameter not set",
        "bash: line 1: TOKEN: parameter null or not set",
        "KeyError: 'TOKEN'",
        "Error: environment variable TOKEN is not set",
        "fatal: TOKEN must be set",
        "missing required variable: TOKEN",
        "panic: $TOKEN is undefined",
    ],
)
def test_a_complaint_about_a_variable_of_the_caller_is_answered(line: str) -> None:
    assert missing([line], PASSED, HERE) == (
        "TOKEN is set here, but the command does not get it: pass it with --env TOKEN, "
        "or all variables with --env-all"
    )


def test_several_are_named_once_each() -> None:
    lines = ["KeyError: 'TOKEN'", "API_URL not set", "KeyError: 'TOKEN'"]
    assert missing(lines, PASSED, HERE).startswith("TOKEN and API_URL are set here")
    assert "--env TOKEN --env API_URL" in missing(lines, PASSED, HERE)


@pytest.mark.parametrize(
    "line", ["KeyError: 'OTHER'", "HOME: unbound variable", "TOKEN is wrong", "required: nothing at all"]
)
def test_nothing_is_guessed(line: str) -> None:
    assert missing([line], PASSED, HERE) == ""


def test_a_program_that_only_the_callers_path_finds() -> None:
    line = "sh: 1: sh: not found"
    assert "--env PATH" in missing([line], {"PATH": "/nowhere"}, HERE)
    assert missing([line], PASSED, HERE) == ""


def test_the_end_of_a_run_has_the_hint(longshore: Command) -> None:
    longshore.env["MY_TOKEN"] = "secret"
    words = "sh", "-c", "set -u; echo $MY_TOKEN"
    failed = longshore("run", "--", *words)
    assert failed.exit == 1
    assert "hint: MY_TOKEN is set here" in failed.stderr
    passed = longshore("run", "--env", "MY_TOKEN", "--", *words)
    assert (passed.exit, passed.stdout, "hint" in passed.stderr) == (0, "secret\n", False)
