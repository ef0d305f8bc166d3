"""Shows objects in detail, with their events, as kubectl describe does.

longshore describe job pi
longshore describe pods -l job-name=pi
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from longshore.api import errors
from longshore.cli.arguments.flags import switch

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments.targets import Target
    from longshore.cli.server.requests import Server

INTERMIXED = True
_MAX_WHY_LINES: Final = 8


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.arguments import targets

    targets.add_arguments(parser)
    switch(parser, "--show-events", help="include events (default)", default=True)


def run(arguments: Namespace) -> int:
    from longshore.cli.arguments import kinds, targets
    from longshore.cli.printing.columns import aligned
    from longshore.cli.server import connecting, refusals

    with refusals.told():
        server = connecting.server(arguments)
        chosen = targets.chosen(server, kinds.discover(server), arguments)
        texts = [
            aligned(_text(server, target, obj, arguments.show_events)) + _why(server, target, obj, arguments)
            for target in chosen
            for obj in _each(server, target, arguments)
        ]
    if not texts:
        where = f" in {server.namespace} namespace." if any(target.namespace for target in chosen) else ""
        print(f"No resources found{where}", file=sys.stderr)
    sys.stdout.write("\n\n".join(texts))
    return 0


def _each(server: Server, target: Target, arguments: Namespace) -> list[Obj]:
    """The object of this name, else the objects whose names begin with it, or all that match."""
    from longshore.api.errors import StatusError

    if target.name:
        try:
            return [server.json("GET", target.path)]
        except StatusError as err:
            if err.code != 404:
                raise
            every = server.json("GET", target.kind.path(target.namespace))["items"]
            found = [obj for obj in every if obj["metadata"]["name"].startswith(target.name)]
            if not found:
                raise
            return found
    query = {"labelSelector": arguments.selector, "fieldSelector": arguments.field_selector}
    items: list[Obj] = server.json(
        "GET", target.path, query={key: value for key, value in query.items() if value}
    )["items"]
    return items


def _why(server: Server, target: Target, obj: Obj, arguments: Namespace) -> str:
    """The end of the object's story, if longshore kept any of it."""
    from datetime import UTC, datetime

    from longshore.api import types
    from longshore.cli.server.requests import escaped
    from longshore.why import kinds, text

    kind, meta = kinds.of_resource(target.kind.group, target.kind.plural), obj["metadata"]
    if kind is None or not arguments.show_events:
        return ""
    answer = server.request("GET", kind.explanation(meta.get("namespace", ""), escaped(meta["name"])))
    story = types.decode(answer.body) if answer.code == 200 else {"story": []}
    if not any("who" in line for line in story["story"]):
        return ""
    told = {**story, "story": story["story"][-_MAX_WHY_LINES:]}
    return "\n".join(["Why:", *(f"  {line}" for line in text.lines(told, None, datetime.now(UTC))), ""])


def _text(server: Server, target: Target, obj: Obj, with_events: bool) -> str:
    from longshore.cli.describing import anything, jobs, nodes, pods
    from longshore.cli.showing import event_lines

    kind = target.kind
    happened = _happened(server, target, obj) if with_events else []
    now = event_lines.now()
    match kind.group, kind.kind:
        case "", "Pod":
            text = pods.describe(obj, happened, now)
        case "batch", "Job":
            text = jobs.describe(obj, happened, now)
        case "batch", "CronJob":
            text = jobs.cronjob(obj, happened, now)
        case "", "Node":
            text = nodes.describe(obj, happened, now, *_of_node(server, obj["metadata"]["name"]))
        case _:
            typed = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
            text = anything.describe(typed, happened, now)
    return text if with_events else text[: text.rindex("Events:")]


def _happened(server: Server, target: Target, obj: Obj) -> list[Obj]:
    meta = obj["metadata"]
    about = {"kind": target.kind.kind, "name": meta["name"], "namespace": meta.get("namespace", "")}
    if target.kind.kind != "Node":  # a node's events name it by its name, for its uid is not known there
        about["uid"] = meta["uid"]
    selector = ",".join(f"involvedObject.{key}={value}" for key, value in about.items() if value)
    where = f"/api/v1/namespaces/{meta['namespace']}/events" if meta.get("namespace") else "/api/v1/events"
    items: list[Obj] = server.json("GET", where, query={"fieldSelector": selector})["items"]
    return items


def _of_node(server: Server, name: str) -> tuple[Obj | None, list[Obj]]:
    """The node's lease, and its pods that have not ended."""
    lease = None
    with errors.tolerated(403, 404):
        lease = server.json("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}")
    selector = f"spec.nodeName={name},status.phase!=Succeeded,status.phase!=Failed"
    return lease, server.json("GET", "/api/v1/pods", query={"fieldSelector": selector})["items"]
