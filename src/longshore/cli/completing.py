"""The words that may come next on a command line: commands, verbs, flags, values, kinds and names."""

from __future__ import annotations

import argparse
import os
import shlex
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from longshore.api.errors import StatusError
from longshore.cli import main
from longshore.cli.arguments import kinds, parsers
from longshore.cli.main import Failure
from longshore.cli.server import connecting
from longshore.cli.server.requests import Server
from longshore.client.config import kubeconfig
from longshore.client.errors import ConfigError, Unreachable

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
    """Asks the server for names. An answer is empty if the server cannot give it."""

    def kinds(self) -> Sequence[str]: ...

    def names(self, kind: str) -> Sequence[str]: ...

    def contexts(self) -> Sequence[str]: ...

    def containers(self, pod: str) -> Sequence[str]: ...


@dataclass
class CommandLine:
    """A command line up to the cursor, parsed."""

    command: str
    parser: argparse.ArgumentParser
    words: list[str] = field(default_factory=list)
    """The words that are no flags, without the command and its verbs."""
    verb: str = ""
    waiting: argparse.Action | None = None
    """The flag whose value comes next."""
    after_dashes: bool = False


def split(line: str) -> tuple[list[str], str]:
    """The finished words after `longshore`, and the word at the cursor; an open quote counts as closed."""
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
    """The candidates that begin with the current word."""
    found = _next(words, current, asker)
    return [each for each in found if each.word.startswith(current)]


def _next(words: Sequence[str], current: str, asker: Asker) -> Iterable[Candidate]:
    if words[:1] == ["help"]:
        words = words[1:]
    words = main.front_flags(words)[1]
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


def _read(words: Sequence[str]) -> CommandLine:
    line = CommandLine(words[0], parsers.parser(words[0]))
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


def _values(line: CommandLine, action: argparse.Action, asker: Asker) -> Iterable[Candidate]:
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


def _words(line: CommandLine, current: str, asker: Asker) -> Iterable[Candidate]:
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
        case "cron", "edit" | "export" | "history" | "logs" | "next" | "pause" | "remove" | "resume" | "run":
            return map(Candidate, asker.names("cronjobs"))
    for action in line.parser._actions:
        if not action.option_strings and action.choices is not None:
            return [Candidate(str(each)) for each in action.choices]
    return ()


def _objects(words: Sequence[str], current: str, asker: Asker) -> Iterable[Candidate]:
    """Completes names after `job/`, or after a kind as a word of its own."""
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


# Names for completion, from the server that the line names. A person waits, so errors are not shown.


class ServerAsker:
    """Asks with the flags --kubeconfig, --context and --namespace of the line."""

    def __init__(self, words: Sequence[str]) -> None:
        named = _value(words, "--kubeconfig")
        self._where = Namespace(
            kubeconfig=Path(named) if named else None,
            context=_value(words, "--context"),
            namespace=_value(words, "--namespace", "-n"),
        )
        self._everywhere = "-A" in words or "--all-namespaces" in words

    def kinds(self) -> Sequence[str]:
        try:
            rows = kinds.discover(self._server()).rows
        except (StatusError, Unreachable, Failure):
            return ()
        return list(dict.fromkeys(row.plural for row in rows if "list" in row.verbs))

    def names(self, kind: str) -> Sequence[str]:
        try:
            server = self._server()
            row = kinds.discover(server).named(kind)
            if row is None:
                return ()
            accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            place = "" if self._everywhere else server.namespace
            found = server.json("GET", row.path(place), query={"limit": "500"}, accept=accept)
        except (StatusError, Unreachable, Failure):
            return ()
        return [item["metadata"]["name"] for item in found.get("items") or ()]

    def contexts(self) -> Sequence[str]:
        try:
            return list(kubeconfig.load(self._where.kubeconfig, os.environ).contexts)
        except ConfigError:
            return ()

    def containers(self, pod: str) -> Sequence[str]:
        try:
            server = self._server()
            name = pod.rpartition("/")[2]
            spec = server.json("GET", f"/api/v1/namespaces/{server.namespace}/pods/{name}")["spec"]
        except (StatusError, Unreachable, Failure):
            return ()
        return [each["name"] for each in [*spec["containers"], *(spec.get("initContainers") or ())]]

    def _server(self) -> Server:
        return connecting.server(self._where)


def _value(words: Sequence[str], *flags: str) -> str:
    """The last value of a flag, written `--flag value` or `--flag=value`."""
    found = ""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in flags:
            found = value if equals else "".join(words[at + 1 : at + 2])
    return found
