"""Shows objects, as kubectl get does.

longshore get jobs
longshore get job/pi cronjob/nightly -o yaml
longshore get pods -l job-name=pi -o wide -w
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from longshore.cli.arguments import targets
from longshore.cli.arguments.flags import switch
from longshore.cli.main import Said
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments.targets import Target
    from longshore.cli.printing.tables import Printer
    from longshore.cli.server.requests import Server


INTERMIXED = True


def add_arguments(parser: ArgumentParser) -> None:
    targets.add_arguments(parser)
    add = parser.add_argument
    add("--output", "-o", default="", metavar="FORMAT", help="wide, json, yaml, name, jsonpath=…, …")
    switch(parser, "--watch", "-w", help="after the list, show changes")
    switch(parser, "--watch-only", help="show changes only")
    switch(parser, "--output-watch-events", help="show the type of each change")
    add("--no-headers", action="store_true", help="leave out the header line")
    switch(parser, "--show-labels", help="show all labels in the last column")
    switch(parser, "--show-kind", help="put the kind before each name")
    add("--label-columns", "-L", action="append", default=[], metavar="L", help="show this label as a column")
    add("--sort-by", default="", metavar="PATH", help="sort by this field, e.g. .metadata.name")
    add("--chunk-size", type=int, default=500, metavar="N", help="objects per request (default: 500)")
    switch(parser, "--ignore-not-found", help="a missing object is no error")
    switch(parser, "--show-managed-fields", help="show managedFields: who set which field")
    add("--subresource", default="", metavar="S", help="show this subresource: status, scale")
    add("--raw", default="", metavar="PATH", help="print the server's answer to GET PATH")


def run(arguments: Namespace) -> int:
    with connecting.opened(arguments) as server:
        if arguments.raw:
            return _raw(server, arguments.raw)
        chosen = targets.chosen(server, arguments)
        if arguments.watch or arguments.watch_only:
            return _watch(server, chosen, arguments)
        if arguments.output in ("", "wide"):
            return _tables(server, chosen, arguments)
        return _objects(server, chosen, arguments)


def _raw(server: Server, path: str) -> int:
    from longshore.cli.server import requests

    answer = server.request("GET", path, accept="application/json, */*")
    if answer.code >= 400:
        raise requests.refusal(answer)
    sys.stdout.buffer.write(answer.body + (b"" if answer.body.endswith(b"\n") else b"\n"))
    return 0


def _tables(server: Server, chosen: Sequence[Target], arguments: Namespace) -> int:
    from longshore.cli.printing import tables

    mixed = arguments.show_kind or len({target.kind for target in chosen}) > 1
    code, shown = 0, 0
    printers: dict[Any, Printer] = {}
    last: Printer | None = None
    for target in chosen:
        table, refused = _asked(server, target, arguments, tables.ACCEPT)
        code = code or refused
        if table is not None and table.get("kind") != "Table":
            table = tables.of_objects(table)
        if table is None or not table.get("rows"):
            continue
        printer = printers.setdefault(target.kind, _printer(target, arguments, mixed))
        if last is not None and last is not printer:
            print()
        last = printer
        shown += len(table["rows"])
        sys.stdout.write(printer.text(_sorted(table, arguments.sort_by)))
    if not shown and not code and not any(target.name for target in chosen):
        _nothing(server, chosen, arguments)
    return code


def _printer(target: Target, arguments: Namespace, mixed: bool) -> Printer:
    from longshore.cli.printing.tables import Printer

    return Printer(
        wide=arguments.output == "wide",
        headers=not arguments.no_headers,
        prefix=f"{target.kind.one}/" if mixed else "",
        with_namespace=arguments.all_namespaces and (mixed or target.kind.namespaced),
        labels=[label for given in arguments.label_columns for label in given.split(",")],
        all_labels=arguments.show_labels,
    )


def _asked(server: Server, target: Target, arguments: Namespace, accept: str) -> tuple[Obj | None, int]:
    """All pages of an answer as one document; after a refusal None and the exit code."""
    from longshore.api.errors import StatusError
    from longshore.cli.server import refusals

    path = target.kind.path(target.namespace, target.name, arguments.subresource)
    query: dict[str, str] = {}
    if not target.name:
        query = targets.selectors(arguments)
        if arguments.chunk_size and not arguments.sort_by:
            query["limit"] = str(arguments.chunk_size)
    if arguments.sort_by and "Table" in accept:
        query["includeObject"] = "Object"
    try:
        whole, *others = server.pages(path, query, accept=accept)
        for page in others:
            for key in ("rows", "items"):
                if key in whole:
                    whole[key] += page[key]
        return whole, 0
    except StatusError as err:
        if err.code == 404 and target.name and arguments.ignore_not_found:
            return None, 0
        about = ""
        if err.reason == "BadRequest" and not target.name:
            about = (
                f'Unable to find "{target.kind.api_version}, Resource={target.kind.plural}" that match label '
                f'selector "{arguments.selector}", field selector "{arguments.field_selector}": '
            )
        print(refusals.text(err, about), file=sys.stderr)
        return None, 1


def _sorted(table: Obj, path: str) -> Obj:
    if not path:
        return table
    from longshore.cli.printing import path_templates

    return {**table, "rows": path_templates.by_field(table["rows"], path, lambda row: row["object"])}


def _nothing(server: Server, chosen: Sequence[Target], arguments: Namespace) -> None:
    if arguments.ignore_not_found:
        return
    where = f" in {server.namespace} namespace." if any(target.namespace for target in chosen) else ""
    print(f"No resources found{where}", file=sys.stderr)


def _objects(server: Server, chosen: Sequence[Target], arguments: Namespace) -> int:
    from longshore.cli.printing import objects, path_templates

    code = 0
    found: list[Obj] = []
    single = len(chosen) == 1 and bool(chosen[0].name)
    names: list[str] = []
    write = None if arguments.output == "name" else objects.writer(arguments.output)
    for target in chosen:
        answer, refused = _asked(server, target, arguments, "application/json")
        code = code or refused
        if answer is None:
            continue
        items = [answer] if target.name else answer["items"]
        names += [f"{target.kind.one}/{item['metadata']['name']}" for item in items]
        typed = {"apiVersion": target.kind.api_version, "kind": target.kind.kind}
        found += [{**typed, **item} for item in items]
    if arguments.sort_by:
        pairs = path_templates.by_field(
            [*zip(found, names, strict=True)], arguments.sort_by, lambda pair: pair[0]
        )
        found, names = [obj for obj, _ in pairs], [name for _, name in pairs]
    if not arguments.show_managed_fields:
        found = [objects.without_managed_fields(obj) for obj in found]
    if write is None:
        sys.stdout.write("".join(name + "\n" for name in names))
    elif single and found:
        sys.stdout.write(write(found[0]))
    elif not single and (found or not code):
        sys.stdout.write(write(objects.as_list(found)))
    return code


def _watch(server: Server, chosen: Sequence[Target], arguments: Namespace) -> int:
    if len(chosen) != 1:
        raise Said("error: watch is only supported on individual resources and resource collections")
    return _follow(server, chosen[0], arguments, _printer(chosen[0], arguments, arguments.show_kind))


def _follow(server: Server, target: Target, arguments: Namespace, printer: Printer) -> int:
    """Prints changes until Ctrl-C. Returns only after a refusal."""
    from longshore.api.errors import StatusError
    from longshore.cli.printing import tables

    as_table = arguments.output in ("", "wide")
    accept = tables.ACCEPT if as_table else "application/json"
    say = _teller(target, arguments, printer, as_table)
    query = targets.selectors(arguments)
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
    from longshore.cli.printing import objects

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
