"""The pods of Volcano Jobs and queues, with the columns the server itself has for pods."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from longshore.cli.volcano import vcctl
from longshore.cli.volcano.vcctl import Wrong

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

_JOB: Final = "volcano.sh/job-name"
_QUEUE: Final = "volcano.sh/queue-name"
_QUEUE_ASKED: Final = "scheduling.volcano.sh/queue-name"
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_TITLES: Final[tuple[str, ...]] = ("Name", "Ready", "Status", "Restart", "Age")
_COLUMNS: Final = ("Name", "Ready", "Status", "Restarts", "Age")
_SPACING: Final = 8


def list_flags(parser: ArgumentParser) -> None:
    vcctl.namespaced(parser)
    parser.add_argument("--queue", "-q", default="", metavar="Q", help="only those in this queue")
    parser.add_argument("--job", "-j", default="", metavar="JOB", help="only those of this Job")
    parser.add_argument("--all-namespaces", action="store_true", help="in all namespaces")


def list_(server: Server, arguments: Namespace) -> str:
    namespace = "" if arguments.all_namespaces else server.namespace
    query = {"includeObject": "Metadata"}
    if arguments.job:
        query["labelSelector"] = f"{_JOB} in ({arguments.job})"
    elif not arguments.queue:
        query["labelSelector"] = _JOB
    table = server.json("GET", vcctl.path("/api/v1", "pods", namespace), query=query, accept=_TABLE)
    places = [column["name"] for column in table["columnDefinitions"]]
    rows = table.get("rows") or []
    if arguments.job and arguments.queue and not all(_fits(row, arguments.queue) for row in rows):
        raise Wrong(f"the input vcjob {arguments.job} does not match the queue {arguments.queue}")
    if arguments.queue and not arguments.job:
        rows = [row for row in rows if _belongs(row, arguments.queue)]
    if not rows:
        if not arguments.job and not arguments.queue:
            vcctl.point_to(server, "/api/v1", "pods", arguments.all_namespaces)
        return "No resources found"
    shown = [tuple(str(row["cells"][places.index(name)]) for name in _COLUMNS) for row in rows]
    titles = _TITLES
    if arguments.all_namespaces:
        titles = ("Namespace", *titles)
        shown = [
            (row["object"]["metadata"]["namespace"], *cells) for row, cells in zip(rows, shown, strict=True)
        ]
    return vcctl.fitted([titles, *shown], _SPACING, header=False)


def _fits(row: Obj, queue: str) -> bool:
    labels = row["object"]["metadata"].get("labels") or {}
    return bool(labels.get(_QUEUE, queue) == queue)


def _belongs(row: Obj, queue: str) -> bool:
    meta = row["object"]["metadata"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    return queue in (labels.get(_QUEUE), annotations.get(_QUEUE_ASKED))
