"""Shows events, oldest first, as kubectl events does.

longshore events --for job/pi
longshore events --types Warning -A -w
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from longshore.cli.arguments import targets
from longshore.cli.arguments.flags import switch
from longshore.cli.main import Said
from longshore.cli.printing.columns import Columns
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--for", dest="what", default="", metavar="TYPE/NAME", help="only events about this object")
    add("--types", default="", metavar="T,…", help="only Normal, or only Warning")
    switch(parser, "--all-namespaces", "-A", help="in all namespaces")
    switch(parser, "--watch", "-w", help="after the list, show new events")
    add("--no-headers", action="store_true", help="leave out the header line")
    add("--output", "-o", default="", metavar="FORMAT", help="json, yaml, name, jsonpath=…")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    with connecting.opened(arguments) as server:
        selector = _about(server, arguments.what)
        query = {"fieldSelector": selector} if selector else {}
        namespace = "" if arguments.all_namespaces else server.namespace
        path = f"/api/v1/namespaces/{namespace}/events" if namespace else "/api/v1/events"
        return _show(server, path, query, namespace, arguments)


def _about(server: Server, what: str) -> str:
    if not what:
        return ""
    from longshore.cli.arguments import kinds

    if what.count("/") != 1:
        raise Said("error: --for must be in resource/name form", 2)
    (target,) = targets.parse(kinds.discover(server), [what], server.namespace)
    return (
        f"involvedObject.kind={target.kind.kind},involvedObject.apiVersion={target.kind.api_version},"
        f"involvedObject.name={target.name}"
    )


def _show(server: Server, path: str, query: dict[str, str], namespace: str, arguments: Namespace) -> int:
    from longshore.cli.showing import event_lines

    found = server.json("GET", path, query=query)
    events = event_lines.in_order([event for event in found["items"] if _wanted(event, arguments.types)])
    if arguments.output:
        return _objects(events, arguments.output)
    columns = Columns()
    header = [] if arguments.no_headers else [["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]]
    if header and not namespace:
        header[0].insert(0, "NAMESPACE")
    if events or arguments.watch:
        _print(columns, header, events, namespace)
    else:
        print(f"No events found{f' in {namespace} namespace' if namespace else ''}.", file=sys.stderr)
    while arguments.watch:
        version = found["metadata"]["resourceVersion"]
        for type, event in server.events(path, {**query, "resourceVersion": version}):
            found = event
            if type != "DELETED" and _wanted(event, arguments.types):
                _print(columns, [], [event], namespace)
    return 0


def _print(columns: Columns, header: list[list[str]], events: list[Obj], namespace: str) -> None:
    from longshore.cli.printing.tables import written
    from longshore.cli.showing import event_lines

    now = event_lines.now()
    rows = list(header)
    for event in events:
        about = event["involvedObject"]
        row = [] if namespace else [event["metadata"]["namespace"]]
        row += [event_lines.seen(event, now), event.get("type", ""), event.get("reason", "")]
        rows.append(
            [*row, f"{about.get('kind')}/{about.get('name')}", written(event.get("message", "").strip())]
        )
    sys.stdout.write(columns.lines(rows))
    sys.stdout.flush()


def _wanted(event: Obj, types: str) -> bool:
    return not types or event.get("type", "").lower() in types.lower().split(",")


def _objects(events: list[Obj], output: str) -> int:
    from longshore.cli.printing import objects

    if output == "name":
        sys.stdout.write("".join(f"event/{event['metadata']['name']}\n" for event in events))
        return 0
    typed = [{"apiVersion": "v1", "kind": "Event", **event} for event in events]
    plain = [objects.without_managed_fields(event) for event in typed]
    sys.stdout.write(objects.writer(output)(objects.as_list(plain)))
    return 0
