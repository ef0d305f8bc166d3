"""Flags that several commands have, each with its words."""

from __future__ import annotations

import math
import re
from argparse import Action, ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from longshore.cli.arguments import waiting_times


def table(parser: Any, text: str, **readers: Callable[[str], object]) -> None:
    """Adds the flags and words of a table: spelling, kind and help, two spaces apart; help may continue on
    the next line.

    A spelling is `--output, -o FORMAT`, or `words* NAME` with how many there may be; `dest: --for T` names
    another destination. Kinds are `text`, `word` (must be given), `words`, `list` (may be repeated), `on`,
    `switch`, choices such as `a|b|c`, and readers by name; `list:NAME` reads each of several. After `=` is
    the default: a number, a text, `on`, or `unset` for None. `int`, `path` and `seconds` are known readers.
    """
    rows: list[tuple[str, str, str]] = []
    for line in text.strip("\n").splitlines():
        if line.startswith("      "):
            spelling, kind, help = rows.pop()
            rows.append((spelling, kind, f"{help} {line.strip()}"))
        else:
            spelling, kind, help = re.split(r" {2,}", line.strip(), maxsplit=2)
            rows.append((spelling, kind, help))
    for row in rows:
        _add(parser, *row, _READERS | readers)


def _add(parser: Any, spelling: str, kind: str, help: str, readers: Mapping[str, object]) -> None:
    dest, colon, rest = spelling.partition(": ")
    words = (rest if colon else spelling).split(" ")
    names = [words.pop(0).rstrip(",")]
    while words and words[0].startswith("-"):
        names.append(words.pop(0).rstrip(","))
    more: dict[str, Any] = {"dest": dest} if colon else {}
    if names[0][-1] in "*+?":
        names, more["nargs"] = [names[0][:-1]], names[0][-1]
    if words:
        more["metavar"] = " ".join(words)
    kind, equals, default = kind.partition("=")
    if kind == "switch":
        switch(parser, *names, help=help, default={"on": True, "unset": None}.get(default, False))
        return
    action, _, reader = kind.partition(":")
    if action == "on":
        more["action"] = "store_true"
    elif action == "list":
        more |= {"action": "append", "default": []}
        if reader:
            more["type"] = readers[reader]
    elif "|" in kind:
        more["choices"] = tuple(kind.removesuffix("|").split("|"))
        if equals or kind.startswith("|"):
            more["default"] = default
    elif kind == "text":
        more["default"] = None if default == "unset" else default
    elif kind not in ("word", "words"):
        more["type"] = readers[kind]
        if equals:
            more["default"] = _number(default)
    parser.add_argument(*names, help=help, **more)


_READERS: Final[dict[str, Callable[[str], object]]] = {
    "int": int,
    "path": Path,
    "seconds": waiting_times.seconds,
}


def _number(text: str) -> float | str:
    """Parses a default: a whole number, a decimal number, or a text."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def verb(verbs: Any, name: str, help: str, description: str = "", **more: Any) -> ArgumentParser:
    """Adds a verb to the subparsers of a command."""
    about = {"description": description} if description else {}
    made: ArgumentParser = verbs.add_parser(name, help=help, allow_abbrev=False, **about, **more)
    return made


def switch(parser: Any, *flags: str, help: str, default: bool | None = False) -> None:
    """Adds a flag that is on or off: `--x` and `--no-x`. `parser` may also be a group of arguments."""
    parser.add_argument(*flags, action=BooleanOptionalAction, default=default, help=help)


def files(parser: ArgumentParser, help: str = "file, directory, URL, or - for standard input") -> None:
    """Adds the flags for files with objects."""
    parser.add_argument("--filename", "-f", action="append", default=[], metavar="F", help=help)
    way = f"use: kubectl kustomize DIR | {parser.prog} -f -"
    parser.add_argument("--kustomize", "-k", action=_Kustomize, metavar="DIR", help=way)
    switch(parser, "--recursive", "-R", help="include subdirectories")


class _Kustomize(Action):
    """Refuses `-k`, and says what works instead: kubectl builds kustomizations."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        parser.error(f"argument -k: longshore builds no kustomizations; {self.help}")


def selector(parser: ArgumentParser) -> None:
    table(parser, "--selector, -l S  text  only objects with these labels, e.g. a=1,b")


def container(parser: ArgumentParser) -> None:
    table(parser, "--container, -c C  text  default: the first one")


def pod_running_timeout(parser: ArgumentParser) -> None:
    table(parser, "--pod-running-timeout T  seconds=60.0  how long to wait for a pod (default: 1m)")


def json_output(parser: ArgumentParser) -> None:
    table(parser, "--output, -o json  |json  json: output for programs")


def validation(parser: ArgumentParser) -> None:
    """Adds `--validate`, which says what happens to fields that a kind does not have."""
    from longshore.cli.server.apply_request import VALIDATION

    table(parser, f"--validate  {'|'.join(VALIDATION)}=strict  unknown fields: refuse, warn, ignore")


def field_owner(parser: ArgumentParser) -> None:
    """Adds the flags of server-side apply: the field manager, and whether it takes over fields of others."""
    from longshore.cli.server.apply_request import MANAGER

    switch(parser, "--server-side", help="refuse to take over fields that others own")
    switch(parser, "--force-conflicts", help="take over fields that others own")
    table(parser, f"--field-manager M  text={MANAGER}  who sets the fields (default: {MANAGER})")


DRY_RUNS: Final = {"none": "", "client": " (dry run)", "server": " (server dry run)"}
"""The end of the line about an object, by kind of dry run."""


def dry_run(parser: ArgumentParser, done: str) -> None:
    parser.add_argument(
        "--dry-run",
        nargs="?",
        const="client",
        default="none",
        choices=tuple(DRY_RUNS),
        help=f"say what would be {done}; server: let the server check it, too (default: none)",
    )


_OTHER_CLUSTER: Final = """
--kubeconfig F  path  default: the file kubectl would use
--context C     text  default: the kubeconfig's current context
"""


def other_cluster(parser: ArgumentParser) -> None:
    """Adds the flags for the cluster that longshore works for from outside."""
    table(parser, _OTHER_CLUSTER)


def one_of_several(parser: ArgumentParser) -> None:
    """Adds the flags of controllers outside: leader election, metrics, reasons."""
    switch(parser, "--leader-elect", help="work only while holding the Lease (default)", default=True)
    parser.add_argument(
        "--metrics-port",
        type=address,
        metavar="[ADDRESS:]N",
        help="serve /metrics, /healthz and /readyz here over plain HTTP (default: off; address: 127.0.0.1)",
    )
    switch(parser, "--keep-reasons", help="keep reasons as Events of the cluster, for longshore why")


def address(text: str) -> tuple[str, int]:
    """Address and port from one argument."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 < int(port) <= 65535:
        raise ArgumentTypeError(f"{text!r} is neither a port from 1 to 65535 nor ADDRESS:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def whole(words: str, first: int = 0, last: float = math.inf) -> Callable[[str], int]:
    """A reader of whole numbers in these bounds. `words` follow "is not" in the error: `a whole number above
    0`."""

    def read(text: str) -> int:
        if not text.isdecimal() or not first <= int(text) <= last:
            raise ArgumentTypeError(f"{text!r} is not {words}")
        return int(text)

    return read


port: Final = whole("a port: a whole number from 0 to 65535", 0, 65535)
"""Reads a port to listen on; 0 is any free one."""


def file(text: str) -> Path:
    """The absolute path of a file that exists, for argparse."""
    path = Path(text).expanduser().absolute()
    if not path.is_file():
        raise ArgumentTypeError(f"{text!r} is no file")
    return path
