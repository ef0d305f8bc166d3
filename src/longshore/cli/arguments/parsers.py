"""The parser of each command, made from its module: to run it, and for help, completion and man pages.

A wrong flag or verb is answered with the nearest right one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, NoReturn

from longshore.cli.main import GROUPS, Failure, did_you_mean

_UNKNOWN = "unrecognized arguments: "


class Formatter(argparse.RawDescriptionHelpFormatter):
    """The form of help texts, as wide as the terminal.

    argparse makes a formatter for every argument that is added. Its own imports shutil for the width:
    together with YAML (client/config/kubeconfig.py) a seventh of the instructions of `longshore get pods`
    (cachegrind)."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


def columns() -> int:
    """The width of the terminal, as `shutil.get_terminal_size` finds it."""
    try:
        found = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        found = 0
    if found <= 0:
        try:
            found = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr] # None is caught
        except (AttributeError, ValueError, OSError):
            found = 0
    return found or 80


class Parser(argparse.ArgumentParser):
    """An argparse parser whose errors are a `Failure` with the nearest right word."""

    def error(self, message: str) -> NoReturn:
        if message.startswith(_UNKNOWN):
            message += self._nearest(message.removeprefix(_UNKNOWN).split(" "))
        raise Failure(f"{message}\nsee: {self.prog} --help", 2)

    def _nearest(self, words: Iterable[str]) -> str:
        known = {flag for parser in all_of(self) for flag in parser._option_string_actions}
        for word in words:
            if word.startswith("--"):
                return did_you_mean(word.partition("=")[0], known)
        return ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = list(action.choices or ())
        if choices and value not in choices:
            nearest = did_you_mean(str(value), map(str, choices))
            if isinstance(action, argparse._SubParsersAction):
                self.error(f"there is no '{self.prog} {value}'; there are: {', '.join(choices)}{nearest}")
            listed = ", ".join(repr(choice) for choice in choices if choice != "")
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} (choose from {listed}){nearest}")


def module(name: str) -> Any:
    """The module of a command: `port-forward` is in `commands/port_forward.py`. Volcano's commands are rows
    of `volcano/command_table.py`."""
    if name in (command for command, _ in dict(GROUPS)["Volcano"]):
        from longshore.cli.volcano import command_table

        return command_table.COMMANDS[name]
    return import_module(f"longshore.cli.commands.{name.replace('-', '_')}")


def parser(name: str) -> Parser:
    """The parser of a command."""
    command = module(name)
    made = Parser(
        prog=f"longshore {name}",
        description=command.__doc__,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    command.add_arguments(made)
    return made


def verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the verbs below a command; empty for most commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def all_of(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and the parsers of its verbs."""
    yield parser
    for below in verbs(parser).values():
        yield from all_of(below)


def run(name: str, words: Sequence[str], front: Sequence[str] = ()) -> int:
    """Parses the words after a command, runs the command and returns its exit code. Flags in `front` were
    before the command."""
    command, made = module(name), parser(name)
    mine, after = _with_front(words, front, made), list[str]()
    if getattr(command, "TAKES_A_COMMAND", False) and "--" in mine:
        at = mine.index("--")
        mine, after = mine[:at], mine[at + 1 :]
    try:
        # Words and flags may come in any order, as kubectl has it, unless there are verbs below the command.
        parse = made.parse_intermixed_args if getattr(command, "INTERMIXED", False) else made.parse_args
        parsed = parse(_spelled(mine, made))
    except SystemExit as leave:  # --help
        return int(leave.code or 0)
    parsed.after_dashes = after
    code: int = command.run(parsed)
    return code


def _with_front(words: Sequence[str], front: Sequence[str], made: argparse.ArgumentParser) -> list[str]:
    """Puts the flags of `front` where the parser takes them: after the verbs below the command."""
    at, below = 0, verbs(made)
    while front and at < len(words) and words[at] in below:
        at, below = at + 1, verbs(below[words[at]])
    return [*words[:at], *front, *words[at:]]


def _spelled(words: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Rewrites the arguments in argparse's spelling: Go's `--wait=false` becomes `--no-wait`, and a flag with
    an optional value takes it after `=` only."""
    out = []
    for word in words:
        action = parser._option_string_actions.get(word)
        if action is not None and action.nargs == "?" and word.startswith("--"):
            word = f"{word}={action.const}"
        flag, _, value = word.partition("=")
        if value in ("true", "false") and f"--no-{flag[2:]}" in parser._option_string_actions:
            word = flag if value == "true" else f"--no-{flag[2:]}"
        out.append(word)
    return out
