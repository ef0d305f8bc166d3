"""Shows the manual page of a command, made of the same text as its --help.

  longshore man
  longshore man run
  longshore man --to ~/.local/share/man/man1      writes all pages, for man itself

Without a terminal the page is printed as man reads it: longshore man run | man -l -
"""

from __future__ import annotations

import argparse
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from longshore import __version__
from longshore.cli import main
from longshore.cli.arguments import parsers
from longshore.cli.main import Failure


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "command", nargs="?", default="", metavar="COMMAND", choices=("", *main.names()), help="the command"
    )
    parser.add_argument("--to", type=Path, metavar="DIR", help="write all pages into this directory")


def run(arguments: Namespace) -> int:
    import shutil
    import subprocess
    import tempfile

    if arguments.to is not None:
        folder = arguments.to.expanduser()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in everything().items():
                (folder / f"{name}.1").write_text(text)
        except OSError as err:
            raise Failure(f"cannot write to {folder}: {err.strerror}") from None
        return 0
    text = page(arguments.command) if arguments.command else overview()
    viewer = shutil.which("man")
    if not sys.stdout.isatty() or viewer is None:
        sys.stdout.write(text)
        return 0
    with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
        file.write(text)
        file.flush()
        return subprocess.run([viewer, "-l", file.name], check=False).returncode


_WIDTH = 78


def everything() -> dict[str, str]:
    """All pages by name, `longshore` and `longshore-run`."""
    return {"longshore": overview(), **{f"longshore-{name}": page(name) for name in main.names()}}


def overview() -> str:
    """The page of longshore itself: its commands, variables and files."""
    lines = [
        _title("longshore"),
        *_section("NAME", ["longshore \\- the batch half of Kubernetes in one Python process"]),
        *_section("SYNOPSIS", [".B longshore", ".I COMMAND", "[options]"]),
        ".SH COMMANDS",
    ]
    for title, commands in main.GROUPS:
        lines.append(f".SS {_escaped(title)}")
        for name, summary in commands:
            lines += [".TP", f".B {_escaped(name)}", _escaped(summary)]
    lines += [".SH ENVIRONMENT"]
    for name, text in (
        ("KUBECONFIG", "the kubeconfig of the server to talk to; several files are separated by colons"),
        ("LONGSHORE_HOME", "the data directory (default: ~/.local/share/longshore)"),
        ("KUBE_EDITOR, EDITOR", "the editor of longshore edit"),
        ("NO_COLOR", "no colours in the output"),
    ):
        lines += [".TP", f".B {_escaped(name)}", _escaped(text)]
    lines += [
        ".SH EXIT STATUS",
        _escaped("0 success, 1 failed, 2 wrong command line or file, 130 interrupted."),
    ]
    pages = ", ".join(f"\\fBlongshore\\-{_escaped(name)}\\fR(1)" for name in main.names())
    return "\n".join([*lines, *_section("SEE ALSO", [pages])]) + "\n"


def page(name: str) -> str:
    """The page of one command."""
    parser = parsers.parser(name)
    summary = dict(pair for _, commands in main.GROUPS for pair in commands)[name]
    lines = [
        _title(f"longshore-{name}"),
        *_section("NAME", [f"longshore\\-{_escaped(name)} \\- {_escaped(summary)}"]),
        *_section("SYNOPSIS", _usage(parser)),
        *_section("DESCRIPTION", list(_prose(parser.description or ""))),
        *_options(parser, ".SH OPTIONS"),
    ]
    for verb, below in parsers.verbs(parser).items():
        lines += [f".SH {_escaped(f'longshore {name} {verb}'.upper())}", *_usage(below)]
        lines += [".PP", *_prose(below.description or ""), *_options(below, "")]
    return "\n".join([*lines, *_section("SEE ALSO", ["\\fBlongshore\\fR(1)"])]) + "\n"


def _title(name: str) -> str:
    return f'.TH {_escaped(name.upper())} 1 "" "longshore {__version__}" "longshore"'


def _section(title: str, lines: list[str]) -> list[str]:
    return [f".SH {title}", *lines]


def _usage(parser: argparse.ArgumentParser) -> list[str]:
    formatter = argparse.HelpFormatter(prog=parser.prog, width=_WIDTH)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups)
    first, *rest = formatter.format_help().rstrip("\n").split("\n")
    prefix = "usage: "
    lines = [first.removeprefix(prefix), *(line[len(prefix) :] for line in rest)]
    return [".nf", *map(_escaped, lines), ".fi"]


def _prose(text: str) -> Iterator[str]:
    """Formats paragraphs; indented lines, which are examples, stay as they are."""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        rows = block.split("\n")
        yield ".PP"
        if all(row.startswith(" ") for row in rows) or rows[0].startswith("longshore "):
            yield ".nf"
            yield from (_escaped(row.strip()) for row in rows)
            yield ".fi"
        else:
            yield from (_escaped(row.strip()) for row in rows)


def _options(parser: argparse.ArgumentParser, heading: str) -> Iterator[str]:
    formatter = parser._get_formatter()
    actions = [each for each in parser._actions if not isinstance(each, argparse._SubParsersAction)]
    if actions and heading:
        yield heading
    for action in actions:
        yield ".TP"
        flags = [f"\\fB{_escaped(flag)}\\fR" for flag in action.option_strings]
        shown = _escaped(formatter._metavar_formatter(action, action.dest)(1)[0])
        value = f" \\fI{shown}\\fR" if action.nargs != 0 or not flags else ""
        yield ", ".join(flags) + value if flags else value.strip()
        yield _escaped(formatter._expand_help(action) if action.help else "")


def _escaped(text: str) -> str:
    """Escapes text for man: a dash is a minus sign, which can be copied into a shell."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    plain = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in plain)
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
