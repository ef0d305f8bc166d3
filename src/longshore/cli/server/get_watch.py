"""`get --watch`: the existing objects, then every change, until Ctrl-C."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.printing import objects, tables

if TYPE_CHECKING:
    from longshore.cli.arguments.targets import Target
    from longshore.cli.printing.tables import Printer
    from longshore.cli.server.requests import Server


def show(server: Server, target: Target, arguments: Namespace, printer: Printer) -> int:
    """Returns only after a refusal; Ctrl-C ends it."""
    as_table = arguments.output in ("", "wide")
    accept = tables.ACCEPT if as_table else "application/json"
    say = _teller(target, arguments, printer, as_table)
    query = {"labelSelector": arguments.selector, "fieldSelector": arguments.field_selector}
    query = {key: value for key, value in query.items() if value}
    limit = {} if target.name else {"limit": str(arguments.chunk_size)}
    pages = [*server.pages(target.path, {**query, **limit}, accept=accept)]
    first = pages if as_table or target.name else [obj for page in pages for obj in page["items"]]
    if not arguments.watch_only:
        for each in first:
            say("ADDED", each)
    if target.name:
        query["fieldSelector"] = f"metadata.name={target.name}"
    version = pages[-1]["metadata"]["resourceVersion"]
    everything = target.kind.path(target.namespace)
    while True:
        try:
            for type, obj in server.events(everything, {**query, "resourceVersion": version}, accept=accept):
                version = _version(obj, as_table) or version
                say(type, obj)
        except StatusError as err:
            if err.code != 410:
                raise
            # Too old: what happened in between is lost, as with kubectl, but the watch need not end.
            again = server.json("GET", everything, query={**query, "limit": "1"})
            version = again["metadata"]["resourceVersion"]


def _teller(
    target: Target, arguments: Namespace, printer: Printer, as_table: bool
) -> Callable[[str, Obj], None]:
    write = None if as_table or arguments.output == "name" else objects.writer(arguments.output)

    def say(type: str, obj: Obj) -> None:
        if as_table:
            text = printer.text(obj)
            if arguments.output_watch_events:
                text = "".join(f"{type:<10}{line}\n" for line in text.splitlines())
        elif write is None:
            text = f"{target.kind.one}/{obj['metadata']['name']}\n"
        else:
            shown = obj if arguments.show_managed_fields else objects.without_managed_fields(obj)
            value: Any = {"type": type, "object": shown} if arguments.output_watch_events else shown
            text = write(value)
        sys.stdout.write(text)
        sys.stdout.flush()

    return say


def _version(obj: Obj, as_table: bool) -> str:
    if as_table:
        rows = obj.get("rows") or ()
        return rows[-1]["object"]["metadata"].get("resourceVersion", "") if rows else ""
    version: str = obj["metadata"].get("resourceVersion", "")
    return version
