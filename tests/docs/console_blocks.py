"""Reads the console blocks of a Markdown page: commands after `$ `, and under each its output.

A block that cannot be run here has a comment right above it that says why:

    <!-- not run: needs a cluster -->

`<!-- before: COMMAND -->` runs a command that the page does not show, say to make the files that it names.
`<!-- run by: tests/docs/test_newcomer.py -->` names another test that runs the block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_PART = re.compile(
    r"<!-- (?P<word>not run|before|run by): (?P<text>.*?) -->|```console\n(?P<body>.*?)```", re.DOTALL
)
_SAFE = "bcdfghjklmnpqrstvwxz2456789"
_VARYING = (
    (re.compile(rf"-[{_SAFE}]{{5}}\b"), "-<random>"),  # first: hello-4-2766m is not 2,766 minutes
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "<time>"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|m|h)\b"), "<duration>"),
    (re.compile(r"[ \t]+"), " "),
)
"""What differs between two runs: times, durations, ends of generated names, and the width of columns."""
_OF_THE_MACHINE = re.compile(r"\S+/\S+ \d+/\d+ complete(, \d+ active|$)|this machine: ")
"""Lines that depend on the machine: one a second from `longshore run`, and what it cannot do from `up`."""


class Step(NamedTuple):
    command: str
    output: str
    """As the page shows it; empty if the page shows none."""
    may_fail: bool
    """Whether the next command asks for its exit code."""


class Block(NamedTuple):
    steps: tuple[Step, ...]
    not_run: str = ""
    """The reason why this block cannot be run by a test."""
    run_by: str = ""
    """The test that runs it."""


def blocks(page: Path) -> Iterator[Block]:
    """The page's blocks, and the commands that it does not show, in their order."""
    marks: dict[str, str] = {}
    end = 0
    text = page.read_text()
    for part in _PART.finditer(text):
        if text[end : part.start()].strip():
            marks = {}  # a mark is about what follows at once
        end = part.end()
        if part["word"] == "before":
            yield Block((Step(part["text"], "", False),))
        elif part["word"]:
            marks[part["word"]] = " ".join(part["text"].split())
        else:
            yield Block(tuple(steps(part["body"])), marks.get("not run", ""), marks.get("run by", ""))
            marks = {}


def steps(body: str) -> Iterator[Step]:
    """The commands of a block. A line after a backslash belongs to the command, as one after `> ` does."""
    found: list[tuple[list[str], list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif not found:
            raise ValueError(f"a console block begins with a command after '$ ', not with {line!r}")
        elif not found[-1][1] and (found[-1][0][-1].endswith("\\") or line.startswith("> ")):
            found[-1][0].append(line.removeprefix("> "))
        else:
            found[-1][1].append(line)
    for number, (command, output) in enumerate(found):
        after = found[number + 1][0][0] if number + 1 < len(found) else ""
        yield Step("\n".join(command), "\n".join(output), after.startswith("echo $?"))


def same(expected: str, seen: str) -> bool:
    """Whether the output is as promised. `...` stands for any text on a line, and alone for any lines."""
    pattern = ""
    for line in _settled(expected):
        if line in ("...", "…"):
            pattern += r"(.*\n)*"
        else:
            pattern += ".*".join(map(re.escape, re.split(r"\.\.\.|…", line))) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _settled(seen))) is not None


def _settled(text: str) -> list[str]:
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    lines = (line.strip() for line in text.strip("\n").splitlines())
    return [line for line in lines if not _OF_THE_MACHINE.match(line)]
