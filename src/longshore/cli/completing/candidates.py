"""The words that may come next on a command line: commands, verbs, flags, values, kinds and names."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from longshore.cli import main
from longshore.cli.arguments import parsers

_OBJECTS: Final = frozenset(
    ("delete", "describe", "edit", "get", "resume", "retry", "suspend", "wait", "why")
)
"""Commands whose words are TYPE NAME or TYPE/NAME."""
_PODS: Final = frozenset(("attach", "cp", "exec", "logs", "port-forward"))
"""Commands whose first word is a pod, or TYPE/NAME."""
_FORMATS: Final = ("json", "yaml", "name", "wide", "jsonpath=", "custom-columns=")
_CONDITIONS: Final = ("done", "condition=complete", "condition=failed", "condition=Ready", "delete", "create")
_RIGHTS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "*")


class Candidate(NamedTuple):
    word: str
    meaning: str = ""


class Asker(Protocol):
    """The server, asked for names. Each answer is empty when it cannot be had."""

    def kinds(self) -> Sequence[str]: ...

    def names(self, kind: str) -> Sequence[str]: ...

    def contexts(self) -> Sequence[str]: ...

    def containers(self, pod: str) -> Sequence[str]: ...


@dataclass
class Line:
    """A command line up to the cursor, taken apart."""

    command: str
    parser: argparse.ArgumentParser
    words: list[str] = field(default_factory=list)
    """The words that are no flags, without the command and its verbs."""
    verb: str = ""
    waiting: argparse.Action | None = None
    """The flag whose value comes next."""
    after_dashes: bool = False


def split(line: str) -> tuple[list[str], str]:
    """The finished words after `longshore`, and the one at the cursor; an open quote is taken for closed."""
    for closing in ("", "'", '"'):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        break
    else:
        return [], ""
    current = words.pop() if words and not line[-1:].isspace() else ""
    return words[1:], current


def complete(words: Sequence[str], current: str, asker: Asker) -> list[Candidate]:
    """The candidates that begin as the current word does."""
    found = _next(words, current, asker)
    return [each for each in found if each.word.startswith(current)]


def _next(words: Sequence[str], current: str, asker: Asker) -> Iterable[Candidate]:
    if words[:1] == ["help"]:
        words = words[1:]
    if not words:
        return _commands()
    if words[0] not in main.names():
        return ()
    line = _read(words)
    if line.after_dashes:
        return ()
    if line.waiting is not None:
        return _values(line, line.waiting, asker)
    if current.startswith("--") and "=" in current:
        flag = current.partition("=")[0]
        action = line.parser._option_string_actions.get(flag)
        if action is None:
            return ()
        return [Candidate(f"{flag}={each.word}") for each in _values(line, action, asker)]
    if current.startswith("-"):
        return _flags(line.parser, current)
    return _words(line, current, asker)


def _commands() -> list[Candidate]:
    found = [Candidate(name, text) for _, commands in main.GROUPS for name, text in commands]
    return [*found, Candidate("help", "say more about a command")]


def _read(words: Sequence[str]) -> Line:
    line = Line(words[0], parsers.parser(words[0]))
    for word in words[1:]:
        if line.waiting is not None:
            line.waiting = None
        elif word == "--":
            line.after_dashes = True
            break
        elif word.startswith("-") and word != "-":
            action = line.parser._option_string_actions.get(word)
            line.waiting = action if action is not None and action.nargs is None else None
        elif not line.words and word in (below := parsers.verbs(line.parser)):
            line.parser, line.verb = below[word], word
        else:
            line.words.append(word)
    return line


def _flags(parser: argparse.ArgumentParser, current: str) -> Iterable[Candidate]:
    for action in parser._actions:
        for flag in action.option_strings:
            if flag.startswith("--") and (not flag.startswith("--no-") or current.startswith("--no")):
                yield Candidate(flag, (action.help or "").replace("%%", "%").partition("\n")[0])


def _values(line: Line, action: argparse.Action, asker: Asker) -> Iterable[Candidate]:
    if action.choices is not None:
        return [Candidate(str(each)) for each in action.choices if each != ""]
    match action.dest:
        case "namespace":
            return map(Candidate, asker.names("namespaces"))
        case "context":
            return map(Candidate, asker.contexts())
        case "container" if line.words:
            return map(Candidate, asker.containers(line.words[0].partition(":")[0]))
        case "output" if action.metavar == "FORMAT":
            return map(Candidate, _FORMATS)
        case "what":
            return map(Candidate, _CONDITIONS)
    return ()


def _words(line: Line, current: str, asker: Asker) -> Iterable[Candidate]:
    below = parsers.verbs(line.parser)
    if below and not line.words:
        return [Candidate(name, parser.description or "") for name, parser in below.items()]
    if line.command in _OBJECTS:
        return _objects(line.words, current, asker)
    if line.command in _PODS and (not line.words or line.command == "cp"):
        return _pods(current, asker)
    match line.command, line.verb:
        case "explain", _:
            return map(Candidate, asker.kinds())
        case "top", "pod" | "pods" | "po":
            return map(Candidate, asker.names("pods"))
        case "top", _:
            return map(Candidate, asker.names("nodes"))
        case "auth", "can-i":
            return map(Candidate, asker.kinds() if line.words else _RIGHTS)
        case "cronjob", _:
            return map(Candidate, asker.names("cronjobs"))
    for action in line.parser._actions:
        if not action.option_strings and action.choices is not None:
            return [Candidate(str(each)) for each in action.choices]
    return ()


def _objects(words: Sequence[str], current: str, asker: Asker) -> Iterable[Candidate]:
    """`job/` leads to names; a word of its own before it, too."""
    kind, slash, _ = current.partition("/")
    if slash:
        return [Candidate(f"{kind}/{name}") for name in asker.names(kind)]
    if not words:
        return map(Candidate, asker.kinds())
    if "/" in words[0]:
        return [Candidate(f"{each}/") for each in asker.kinds()]
    return [Candidate(name) for name in asker.names(words[0]) if name not in words[1:]]


def _pods(current: str, asker: Asker) -> Iterable[Candidate]:
    kind, slash, _ = current.partition("/")
    if slash:
        return [Candidate(f"{kind}/{name}") for name in asker.names(kind)]
    return [
        *map(Candidate, asker.names("pods")),
        *(Candidate(f"{each}/") for each in ("job", "pod", "vcjob")),
    ]
