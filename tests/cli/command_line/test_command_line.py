"""What a person sees: help, versions, and errors that say what to do."""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from longshore import __version__
from longshore.cli import main as main_module
from longshore.cli.arguments import parsers
from longshore.cli.main import GROUPS, main
from longshore.plane.controllers import CONTROLLERS

COMMANDS = [name for _, commands in GROUPS for name, _ in commands]


def test_version_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"longshore {__version__}\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_names_every_command_in_its_group_and_gives_examples(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    shown = capsys.readouterr().out
    for title, commands in GROUPS:
        assert f"\n{title}\n" in shown
        for name, summary in commands:
            assert f"  {name:<15}{summary}\n" in shown
    assert "Examples\n  longshore up" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"usage: longshore {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["upp"], "longshore: there is no command 'upp'; did you mean 'up'?\nsee: longshore --help\n"),
        (
            ["jobs"],
            "longshore: there is no command 'jobs'; did you mean 'get jobs'?\nsee: longshore --help\n",
        ),
        (["frobnicate"], "longshore: there is no command 'frobnicate'\nsee: longshore --help\n"),
        (["version", "--x"], "longshore: unrecognized arguments: --x\nsee: longshore version --help\n"),
        (
            ["up", "--port", "70000"],
            "longshore: argument --port: '70000' is not a port: a whole number from 0 to 65535\n"
            "see: longshore up --help\n",
        ),
        (
            ["up", "--controllers", "job,nope"],
            "longshore: argument --controllers: there is no controller 'nope'; "
            f"there are: {', '.join(CONTROLLERS)}, or none\nsee: longshore up --help\n",
        ),
        (
            ["up", "--durability", "some"],
            "longshore: argument --durability: 'some' is neither normal nor full\nsee: longshore up --help\n",
        ),
    ],
)
def test_bad_input_is_named_with_the_rule_and_where_to_read_on(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.err == message
    assert captured.out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-n"], "argument -n: expected one argument\nsee: longshore --help"),
        (["-n", "x"], "a command is missing after these flags\nsee: longshore --help"),
        (["-n", "x", "gett"], "there is no command 'gett'; did you mean 'get'?"),
        (["-n", "x", "images"], "unrecognized arguments: --namespace=x"),
        (["up", "--in-mem"], "unrecognized arguments: --in-mem; did you mean '--in-memory'?"),
        (["run", "--paralelism", "3", "x.yaml"], "--paralelism; did you mean '--parallelism'?"),
        (["get", "pods", "--selektor=a=1"], "did you mean '--selector'?"),
        (["queue", "list", "--quere", "q"], "unrecognized arguments: --quere q"),
        (["job", "lst"], "there is no 'longshore job lst'; there are: run, list, "),
        (["job", "lst"], "; did you mean 'list'?\nsee: longshore job --help\n"),
        (["up", "--runtime", "podmann"], "(choose from 'process', 'podman', 'auto'); did you mean 'podman'?"),
        (["run", "--memory", "lots", "--", "true"], "argument --memory: 'lots' is not an amount"),
        (["wait", "--timeout", "9999999999999", "x"], "argument --timeout: '9999999999999' is too long"),
        (["doctor", "--port", "x"], "argument --port: 'x' is not a port: a whole number from 0 to 65535"),
        (["run", "--cpu", "1x", "--", "true"], "argument --cpu: '1x' is not an amount"),
    ],
)
def test_a_slip_is_answered_with_the_flag_or_verb_that_was_meant(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("words", "usage"), [(["run"], "run"), (["job", "list"], "job list")])
def test_help_with_a_command_is_the_help_of_that_command(
    words: list[str], usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["help", *words]) == 0
    assert capsys.readouterr().out.startswith(f"usage: longshore {usage} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_and_word_of_every_command_is_explained(name: str) -> None:
    unexplained = [
        "/".join(action.option_strings) or action.dest
        for parser in parsers.all_of(parsers.parser(name))
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert unexplained == []


def test_a_kubeconfig_that_is_not_there_is_named_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/not/there")
    assert main(["get", "jobs"]) == 2
    assert capsys.readouterr().err == (
        "longshore: $KUBECONFIG names /not/there, which does not exist; unset it, or start a longshore with: "
        "longshore up\n"
    )


def test_habits_of_other_programs_lead_to_commands_that_exist() -> None:
    assert {habit.split()[0] for habit in main_module._HABITS.values()} <= set(COMMANDS)
    assert not set(main_module._HABITS) & set(COMMANDS)


def test_flags_are_not_guessed_from_their_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--in-mem"]) == 2
    assert "--in-mem" in capsys.readouterr().err


def test_version_and_help_load_nothing_heavy() -> None:
    """What makes them quick: none of the libraries the server needs is imported."""
    heavy = "asyncio", "cryptography", "msgspec", "rich", "sqlite3", "uvloop", "yaml"
    code = (
        "import sys; from longshore.cli.main import main; main(['version']); main(['--help'])\n"
        f"sys.exit(', '.join(m for m in {heavy!r} if m in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "longshore", "version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"longshore {__version__}\n"
