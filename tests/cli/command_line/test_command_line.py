"""What a person sees: help, versions, and errors that say what to do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from longshore import __version__
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
            assert f"  {name:<13}{summary}\n" in shown
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


def test_flags_are_not_guessed_from_their_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--in-mem"]) == 2
    assert "--in-mem" in capsys.readouterr().err


def test_version_and_help_load_nothing_heavy() -> None:
    """What makes them quick: none of the libraries the server needs is imported."""
    heavy = "aiohttp", "asyncio", "cryptography", "msgspec", "rich", "sqlite3", "uvloop", "yaml"
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
