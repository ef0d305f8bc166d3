"""Explains a kind and its fields, from the server's own schema, as kubectl explain does.

longshore explain job
longshore explain cronjob.spec.schedule
longshore explain pod.spec.containers --recursive
longshore explain jobs.batch.volcano.sh.spec.tasks
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from longshore.cli.arguments.flags import switch

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments.kinds import Kind, Kinds
    from longshore.cli.server.requests import Server

INTERMIXED = True


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import connecting

    add = parser.add_argument
    add("words", nargs="*", metavar="TYPE[.FIELD…]", help="a kind, or a field of it")
    switch(parser, "--recursive", "-R", help="list the fields of fields, without their descriptions")
    add("--api-version", default="", metavar="V", help="group and version, where a kind has several")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.arguments import kinds
    from longshore.cli.main import Said
    from longshore.cli.server import connecting, refusals
    from longshore.cli.showing import schema_text

    if len(arguments.words) != 1:
        raise Said(
            "error: You must specify the type of resource to explain. "
            'Use "longshore api-resources" for a complete list of supported resources.',
            2,
        )
    with refusals.told():
        server = connecting.server(arguments)
        kind, path = _found(kinds.discover(server), arguments.words[0].rstrip("."))
        if arguments.api_version:
            group, _, version = arguments.api_version.rpartition("/")
            if group != kind.group:
                raise Said(f'error: couldn\'t find resource for "{group}/{version}, Resource={kind.plural}"')
            kind = kind._replace(version=version)
        text = schema_text.Explained(_document(server, kind))
    schema = text.kind(kind.group, kind.version, kind.kind)
    if schema is None:
        raise Said(f"error: the server describes no {kind.kind} in {kind.api_version}")
    group = f"GROUP:      {kind.group}\n" if kind.group else ""
    sys.stdout.write(f"{group}KIND:       {kind.kind}\nVERSION:    {kind.version}\n\n")
    try:
        sys.stdout.write(text.text(schema, path, recursive=arguments.recursive))
    except schema_text.NoSuchField as err:
        raise Said(f"error: {err}") from None
    return 0


def _found(kinds: Kinds, word: str) -> tuple[Kind, list[str]]:
    """The kind and the path that a word names; a group may stand between them."""
    from longshore.cli.main import Said

    first, *path = word.split(".")
    for taken in range(len(path), 0, -1):
        group = ".".join(path[:taken])
        for kind in kinds.rows:
            if kind.group == group and first in (kind.plural, kind.singular, *kind.short_names):
                return kind, path[taken:]
    found = kinds.named(first)
    if found is None:
        raise Said(f'the server doesn\'t have a resource type "{first}"')
    return found, path


def _document(server: Server, kind: Kind) -> Obj:
    """The OpenAPI document of a kind's group and version."""
    from longshore.cli.main import Said

    index = server.json("GET", "/openapi/v3")
    path = f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"
    found = (index.get("paths") or {}).get(path)
    if found is None:
        raise Said(
            f'error: couldn\'t find resource for "{kind.group}/{kind.version}, Resource={kind.plural}"'
        )
    address, _, query = found["serverRelativeURL"].partition("?")
    return server.json("GET", address, query=dict([query.partition("=")[::2]]) if query else None)
