"""A command with verbs below it, as in vcctl: `longshore job list`.

Every error ends as in vcctl: `Failed to list job: …`, and exit code 255 for its -1. A program without verbs
says `Failed to: …`, as Volcano's do.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from longshore.cli.arguments import flags
from longshore.cli.main import Failure, Said
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

FAILED: Final = 255
BATCH: Final = "/apis/batch.volcano.sh/v1alpha1"
BUS: Final = "/apis/bus.volcano.sh/v1alpha1"
FLOW: Final = "/apis/flow.volcano.sh/v1alpha1"
SCHEDULING: Final = "/apis/scheduling.volcano.sh/v1beta1"


class Wrong(Exception):
    """A wrong call, with vcctl's message."""


class Verb(NamedTuple):
    """One verb: its line of help, its flags, and its function, whose result is printed."""

    summary: str
    flags: Callable[[ArgumentParser], None]
    act: Callable[[Server, Namespace], str]


class Command:
    """A command with the attributes of a command's module: a docstring, `add_arguments` and `run`."""

    def __init__(
        self,
        text: str,
        add_arguments: Callable[[ArgumentParser], None],
        run: Callable[[Namespace], int],
    ) -> None:
        self.__doc__, self.add_arguments, self.run = text, add_arguments, run


def command(text: str, noun: str, verbs: Mapping[str, Verb]) -> Command:
    """A command with verbs below it, each with the flags that all share."""

    def add(parser: ArgumentParser) -> None:
        below = parser.add_subparsers(dest="verb", metavar="|".join(verbs), required=True)
        for name, verb in verbs.items():
            own = below.add_parser(name, help=verb.summary, description=verb.summary, allow_abbrev=False)
            verb.flags(own)
            _to_server(own)

    def run(arguments: Namespace) -> int:
        return _carried_out(arguments, verbs[arguments.verb].act, f"Failed to {arguments.verb} {noun}")

    return Command(text, add, run)


_SERVER_FLAGS: Final = """
--kubeconfig, -k F  path  default: $KUBECONFIG, else the one of longshore up
--context C         text  default: the kubeconfig's current context
--master, -s URL    text  address of the server, instead of the kubeconfig's
"""


def _to_server(parser: ArgumentParser) -> None:
    flags.table(parser, _SERVER_FLAGS, path=Path)


def alone(
    text: str, verb: str, add_flags: Callable[[ArgumentParser], None], act: Callable[[Server, Namespace], str]
) -> Command:
    """A command without verbs."""

    def add(parser: ArgumentParser) -> None:
        add_flags(parser)
        _to_server(parser)

    def run(arguments: Namespace) -> int:
        arguments.verb = verb
        return _carried_out(arguments, act, "Failed to")

    return Command(text, add, run)


def named(parser: ArgumentParser, what: str, *, swapped: bool = False) -> None:
    """Adds `-n` for the namespace and `-N` for the name; with `swapped`, the other way round."""
    namespaced(parser, swapped=swapped)
    letter = "-n" if swapped else "-N"
    flags.table(parser, f"--name, {letter} NAME  text  the name of the {what}")


def namespaced(parser: ArgumentParser, *, swapped: bool = False) -> None:
    letter = "-N" if swapped else "-n"
    flags.table(parser, f"--namespace, {letter} NS  text  default: the context's namespace")


def _carried_out(arguments: Namespace, act: Callable[[Server, Namespace], str], failed: str) -> int:
    from longshore.api.errors import StatusError
    from longshore.client.errors import ConfigError, Unreachable

    if not hasattr(arguments, "namespace"):
        arguments.namespace = ""
    try:
        server = connecting.server(arguments)
        if arguments.master:
            server.connection.server = _address(arguments.master)
        with closing(server):
            text = act(server, arguments)
    except (Wrong, StatusError, Unreachable, ConfigError) as err:
        raise Said(f"{failed}: {err}", FAILED) from None
    except Failure as failure:
        raise Said(f"{failed}: {failure}", FAILED) from None
    if text:
        print(text)
    return 0


def _address(text: str) -> str:
    """A server's URL; https if the text names no scheme."""
    url = text.rstrip("/") if "://" in text else f"https://{text.rstrip('/')}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Wrong(f"--master: {text!r} is not the address of a server: write https://host:port")
    return url


def path(base: str, plural: str, namespace: str = "", name: str = "") -> str:
    """The path of a collection, or of one object in it."""
    from longshore.cli.server.requests import escaped

    where = ("namespaces", escaped(namespace)) if namespace else ()
    parts = [base, *where, plural, *((escaped(name),) if name else ())]
    return "/".join(parts)


def listed(server: Server, base: str, plural: str, namespace: str = "", **query: str) -> list[Obj]:
    """All objects; an empty namespace means every namespace."""
    found: list[Obj] = server.json("GET", path(base, plural, namespace), query=query).get("items") or []
    return found


def point_to(server: Server, base: str, plural: str, everywhere: bool) -> None:
    """Prints on standard error that there are plain Jobs or pods, in case a person looked for these."""
    found = listed(server, base, plural, "" if everywhere else server.namespace, limit="1")
    if found:
        where = " -A" if everywhere else ""
        print(
            f"only Volcano's are listed here; for the others: longshore get {plural}{where}", file=sys.stderr
        )


def order(server: Server, obj: Obj, action: str, namespace: str) -> None:
    """Creates a Command for an object, owned by that object."""
    meta = obj["metadata"]
    ref = {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    command = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {
            "generateName": f"{meta['name']}-{action.lower()}-",
            "namespace": namespace,
            "ownerReferences": [ref],
        },
        "target": ref,
        "action": action,
    }
    server.json("POST", path(BUS, "commands", namespace), body=command)
