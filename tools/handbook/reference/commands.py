"""Every command with its flags, as its own parser has them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from handbook.reference.markdown import cell, code, page, table
from longshore.cli import main
from longshore.cli.arguments import parsers


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser that `longshore NAME` reads its words with."""
    command = parsers.module(name)
    parser = argparse.ArgumentParser(prog=f"longshore {name}", description=command.__doc__)
    command.add_arguments(parser)
    return parser


def names() -> list[str]:
    return [name for _, commands in main.GROUPS for name, *_ in commands]


def verbs(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """The parsers below a command, each with its line of help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, below in action.choices.items():
                yield below, lines.get(name, "")


def text() -> str:
    groups = []
    for title, commands in main.GROUPS:
        rows = [[f"[`longshore {name}`](#longshore-{name})", cell(about)] for name, about, *_ in commands]
        groups.append(f"## {title}\n\n{table(('command', 'what it does'), rows)}")
    parts = [part for name in names() for part in _command(parser_of(name), 2)]
    return page("Commands and flags", "`longshore COMMAND --help` says the same.", *groups, *parts)


def _command(parser: argparse.ArgumentParser, depth: int, about: str = "") -> Iterator[str]:
    yield f"{'#' * depth} {parser.prog}"
    yield _described((parser.description or "").strip()) or about
    yield _flags(parser)
    for below, line in verbs(parser):
        yield from _command(below, depth + 1, f"{line[:1].upper()}{line[1:]}." if line else "")


def _described(text: str) -> str:
    """The description with what is indented, or a command, as a block of code."""
    parts = []
    for part in re.split(r"\n\s*\n", text):
        is_code = all(line.startswith(("  ", "longshore ", "ls ", "find ")) for line in part.splitlines())
        parts.append(f"```text\n{part}\n```" if is_code else cell(part))
    return "\n\n".join(parts)


def _flags(parser: argparse.ArgumentParser) -> str:
    rows = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            continue
        if action.help == argparse.SUPPRESS:
            continue
        rows.append([spelled(action), cell((action.help or "").replace("%%", "%"))])
    return table(("word or flag", "meaning"), rows) if rows else ""


def spelled(action: argparse.Action) -> str:
    """`-o`, `--output FORMAT`, or the name of a word without dashes."""
    choices = "|".join(map(str, action.choices)) if action.choices else ""
    name = action.metavar if isinstance(action.metavar, str) else choices or action.dest.upper()
    if not action.option_strings:
        return code(name)
    value = "" if action.nargs == 0 else f" {name}"
    return (
        ", ".join(code(option) for option in action.option_strings[:-1])
        + (", " if len(action.option_strings) > 1 else "")
        + code(f"{action.option_strings[-1]}{value}")
    )
