"""Lists the kinds that the server has, with their short names, as kubectl api-resources does."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags
from longshore.cli.printing.columns import Columns
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments.kinds import Kind


_FLAGS = """
--api-group G      text=unset           only kinds of this group
--namespaced       switch=unset         only kinds whose objects are in a namespace, or are in none
--verbs V,…        text                 only kinds with all these verbs
--categories C,…   text                 only kinds in all these categories, such as all
--sort-by          |name|kind           sort by name or kind
--no-headers       on                   leave out the header line
--output, -o       |wide|name|json|yaml  the form of the list
"""


def add_arguments(parser: ArgumentParser) -> None:
    flags.table(parser, _FLAGS)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.arguments import kinds
    from longshore.cli.printing import objects

    with connecting.opened(arguments) as server:
        known = kinds.discover(server).rows
    found = _ordered((kind for kind in known if _wanted(kind, arguments)), arguments.sort_by)
    if arguments.output == "name":
        sys.stdout.write("".join(f"{kind.many}\n" for kind in found))
    elif arguments.output in ("json", "yaml"):
        sys.stdout.write(objects.writer(arguments.output)(_list(found)))
    else:
        wide = arguments.output == "wide"
        rows = [] if arguments.no_headers else [_header(wide)]
        sys.stdout.write(Columns().lines(rows + [_row(kind, wide) for kind in found]))
    return 0


def _wanted(kind: Kind, arguments: Namespace) -> bool:
    return (
        arguments.api_group in (None, kind.group)
        and arguments.namespaced in (None, kind.namespaced)
        and set(filter(None, arguments.verbs.split(","))) <= set(kind.verbs)
        and set(filter(None, arguments.categories.split(","))) <= set(kind.categories)
        and bool(kind.verbs)
    )


def _ordered(kinds: Iterable[Kind], by: str) -> list[Kind]:
    key = {"": lambda kind: (kind.group, kind.plural), "name": lambda kind: kind.plural}
    return sorted(kinds, key=key.get(by, lambda kind: kind.kind))


def _header(wide: bool) -> list[str]:
    titles = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    return [*titles, "VERBS", "CATEGORIES"] if wide else titles


def _row(kind: Kind, wide: bool) -> list[str]:
    namespaced = "true" if kind.namespaced else "false"
    cells = [kind.plural, ",".join(kind.short_names), kind.api_version, namespaced, kind.kind]
    return [*cells, ",".join(kind.verbs), ",".join(kind.categories)] if wide else cells


def _list(kinds: Iterable[Kind]) -> Obj:
    items = []
    for kind in kinds:
        item: Obj = {"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced}
        item |= {"group": kind.group} if kind.group else {}
        item |= {"version": kind.version, "kind": kind.kind, "verbs": [*kind.verbs]}
        item |= {"shortNames": [*kind.short_names]} if kind.short_names else {}
        items.append(item | ({"categories": [*kind.categories]} if kind.categories else {}))
    return {"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "", "resources": items}
