"""Shows objects in detail, with their events, as kubectl describe does.

longshore describe job pi
longshore describe pods -l job-name=pi
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from longshore.api import errors
from longshore.api.types import Obj
from longshore.cli.arguments import targets
from longshore.cli.arguments.flags import switch
from longshore.cli.describing.description_lines import Lines, head
from longshore.cli.printing.columns import aligned
from longshore.cli.server import connecting
from longshore.cli.showing import event_lines
from longshore.why import kinds, text

if TYPE_CHECKING:
    from longshore.cli.arguments.targets import Target
    from longshore.cli.server.requests import Server

INTERMIXED = True
_MAX_WHY_LINES: Final = 8


def add_arguments(parser: ArgumentParser) -> None:
    targets.add_arguments(parser)
    switch(parser, "--show-events", help="include events (default)", default=True)


def run(arguments: Namespace) -> int:
    with connecting.opened(arguments) as server:
        chosen = targets.chosen(server, arguments)
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
    """The object of this name, else the objects whose names begin with it; without a name, all that match."""
    try:
        return targets.found(server, target, arguments)
    except errors.StatusError as err:
        if err.code != 404 or not target.name:
            raise
        every = server.json("GET", target.kind.path(target.namespace))["items"]
        begun = [obj for obj in every if obj["metadata"]["name"].startswith(target.name)]
        if not begun:
            raise
        return begun


def _why(server: Server, target: Target, obj: Obj, arguments: Namespace) -> str:
    """The last lines of the object's story, if longshore kept any of it."""
    from datetime import UTC, datetime

    from longshore.api import types
    from longshore.cli.server.requests import escaped

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
    from longshore.cli.describing import jobs, nodes, pods
    from longshore.cli.showing import event_lines

    kind = target.kind
    happened = _happened(server, target, obj) if with_events else []
    now = event_lines.now()
    own = {("", "Pod"): pods.describe, ("batch", "Job"): jobs.describe, ("batch", "CronJob"): jobs.cronjob}
    if describe := own.get((kind.group, kind.kind)):
        text = describe(obj, happened, now)
    elif (kind.group, kind.kind) == ("", "Node"):
        text = nodes.describe(obj, happened, now, *_of_node(server, obj["metadata"]["name"]))
    else:
        text = _anything({"apiVersion": kind.api_version, "kind": kind.kind, **obj}, happened, now)
    return text if with_events else text[: text.rindex("Events:")]


def _happened(server: Server, target: Target, obj: Obj) -> list[Obj]:
    meta = obj["metadata"]
    about = {"kind": target.kind.kind, "name": meta["name"], "namespace": meta.get("namespace", "")}
    if target.kind.kind != "Node":  # events of a node have its name in place of its uid
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


_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")
_CAPITALS: Final = {
    "api": "API",
    "url": "URL",
    "uid": "UID",
    "gid": "GID",
    "id": "ID",
    "ip": "IP",
    "os": "OS",
}
_ALREADY: Final = frozenset(("name", "namespace", "labels", "annotations", "managedFields"))


def _anything(obj: Obj, happened: Sequence[Obj], now: datetime) -> str:
    lines = Lines()
    head(lines, obj)
    lines.labels("Labels", obj["metadata"].get("labels"))
    lines.annotations("Annotations", obj["metadata"].get("annotations"))
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _ALREADY}
    _fields(lines, 0, {**obj, "metadata": metadata})
    event_lines.table(lines, happened, now)
    return lines.text()


def _fields(lines: Lines, level: int, fields: Obj) -> None:
    for key in sorted(fields):
        value = fields[key]
        title = _title(key)
        if isinstance(value, dict):
            lines.add(level, f"{title}:")
            _fields(lines, level + 1, value)
        elif isinstance(value, list):
            lines.add(level, f"{title}:")
            for item in value:
                if isinstance(item, dict):
                    _fields(lines, level + 1, item)
                else:
                    lines.add(level + 1, _scalar(item))
        else:
            lines.pair(level, title, _scalar(value))


def _scalar(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _title(key: str) -> str:
    """`minAvailable` as `Min Available`; other text stays unchanged."""
    if not key.isidentifier():
        return key
    return " ".join(_CAPITALS.get(word.lower(), word[:1].upper() + word[1:]) for word in _WORDS.findall(key))
