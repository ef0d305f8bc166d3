"""Volcano Jobs: run, list, suspend, resume, delete."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from longshore.cli.printing import columns
from longshore.cli.volcano import vcctl
from longshore.cli.volcano.vcctl import BATCH, Wrong

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

NOTHING: Final = "No resources found"
_RESOURCES: Final = "cpu=1000m,memory=100Mi"
_LABEL: Final = "job.volcano.sh"
_TYPE: Final = "volcano.sh/job-type"
_TITLES: Final = (
    "Name", "Creation", "Phase", "JobType", "Replicas", "Min", "Pending", "Running", "Succeeded", "Failed",
    "Unknown", "RetryCount",
)  # fmt: skip
_WIDTHS: Final = [15, 12, 12, 12, 6, 10, 10, 12, 10, 12, 10]
_VARIABLES: Final = {
    "image": "VOLCANO_DEFAULT_IMAGE",
    "namespace": "VOLCANO_DEFAULT_JOB_NAMESPACE",
    "scheduler": "VOLCANO_SCHEDULER_NAME",
}
_COUNTS: Final = ("minAvailable", "pending", "running", "succeeded", "failed", "unknown", "retryCount")


def run_flags(parser: ArgumentParser, *, swapped: bool = False) -> None:
    vcctl.named(parser, "job", swapped=swapped)
    parser.add_argument("--image", "-i", default="busybox", help="the container's image (default: busybox)")
    parser.add_argument("--min", "-m", type=int, default=1, metavar="N", help="pods that must start together")
    parser.add_argument(
        "--replicas", "-r", type=int, default=1, metavar="N", help="number of pods (default: 1)"
    )
    parser.add_argument("--requests", "-R", default=_RESOURCES, metavar="K=V,…", help="resources of each pod")
    parser.add_argument("--limits", "-L", default=_RESOURCES, metavar="K=V,…", help="resources of each pod")
    parser.add_argument("--scheduler", "-S", default="volcano", metavar="S", help="default: volcano")
    parser.add_argument("--filename", "-f", default="", metavar="F", help="a YAML file with the job")


def sub_flags(parser: ArgumentParser) -> None:
    """Adds the flags of `vsub`: those of `run`, a command, and defaults from environment variables."""
    run_flags(parser, swapped=True)
    parser.add_argument(
        "--command", "-c", default="", metavar="TEXT", help="the command, in words as a shell splits them"
    )
    for flag, variable in _VARIABLES.items():
        if value := os.environ.get(variable):
            parser.set_defaults(**{flag: value})


def run(server: Server, arguments: Namespace) -> str:
    if not arguments.name and not arguments.filename:
        raise Wrong("job name cannot be left blank")
    requests, limits = _resources(arguments.requests), _resources(arguments.limits)
    job = _read(arguments.filename) if arguments.filename else _made(arguments, requests, limits)
    namespace = job["metadata"].get("namespace") or server.namespace
    made = server.json("POST", vcctl.path(BATCH, "jobs", namespace), body=job)
    return f"run job {made['metadata']['name']} successfully"


def _read(name: str) -> Obj:
    from longshore.cli.arguments import manifest_files

    if ".yaml" not in name and ".yml" not in name:
        raise Wrong("only support yaml file")
    try:
        raw = Path(name).read_bytes()
    except OSError as err:
        raise Wrong(f"failed to read file, err: {err.strerror}: {name}") from None
    found = [manifest.obj for manifest in manifest_files.parse(raw, name)]
    if len(found) != 1:
        raise Wrong(f"{name} holds {len(found)} objects, one job is wanted")
    return found[0]


def _made(arguments: Namespace, requests: dict[str, str], limits: dict[str, str]) -> Obj:
    name = arguments.name
    container = {
        "image": arguments.image,
        "name": name,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": limits, "requests": requests},
    }
    if words := _words(getattr(arguments, "command", "")):
        container["command"] = words
    template = {
        "metadata": {"name": name, "labels": {_LABEL: name}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "minAvailable": arguments.min,
            "schedulerName": arguments.scheduler,
            "tasks": [{"replicas": arguments.replicas, "template": template}],
        },
    }


def _words(command: str) -> list[str]:
    """A command split as a shell does, comments left out."""
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        raise Wrong("EOF found when expecting closing quote") from None


def _resources(text: str) -> dict[str, str]:
    from longshore.api import quantity

    found = {}
    for part in text.split(",") if text else ():
        name, equals, amount = part.partition("=")
        if not equals or "=" in amount:
            raise Wrong(f"invalid argument syntax {part}, expected <resource>=<value>")
        try:
            found[name] = quantity.canonical(amount)
        except quantity.QuantityError as err:
            raise Wrong(str(err)) from None
    return found


def list_flags(parser: ArgumentParser, *, swapped: bool = False) -> None:
    vcctl.namespaced(parser, swapped=swapped)
    parser.add_argument("--queue", "-q", default="", metavar="Q", help="only those in this queue")
    parser.add_argument("--scheduler", "-S", default="", metavar="S", help="only those of this scheduler")
    parser.add_argument("--all-namespaces", action="store_true", help="in all namespaces")
    parser.add_argument(
        "--selector", default="", metavar="TEXT", help="only those with this text in their name"
    )


def list_(server: Server, arguments: Namespace) -> str:
    everywhere = arguments.all_namespaces
    jobs = vcctl.listed(server, BATCH, "jobs", "" if everywhere else server.namespace)
    if not jobs:
        vcctl.point_to(server, "/apis/batch/v1", "jobs", everywhere)
        return NOTHING
    names = max(len("Name"), *(len(job["metadata"]["name"]) for job in jobs)) + 3
    spaces = max(len("Namespace"), *(len(job["metadata"]["namespace"]) for job in jobs)) + 3
    wanted = [job for job in jobs if _wanted(job, arguments)]
    if not wanted:
        return NOTHING
    rows: list[tuple[str, ...]] = [("Namespace", *_TITLES), *map(_row, wanted)]
    widths = [spaces, names, *_WIDTHS]
    if everywhere:
        return columns.padded(rows, widths)
    return columns.padded([row[1:] for row in rows], widths[1:])


def _wanted(job: Obj, arguments: Namespace) -> bool:
    spec = job.get("spec") or {}
    return (
        arguments.scheduler in ("", spec.get("schedulerName"))
        and arguments.queue in ("", spec.get("queue"))
        and arguments.selector in job["metadata"]["name"]
    )


def _row(job: Obj) -> tuple[str, ...]:
    meta, status = job["metadata"], job.get("status") or {}
    tasks = (job.get("spec") or {}).get("tasks") or ()
    return (
        meta["namespace"],
        meta["name"],
        meta["creationTimestamp"][:10],
        (status.get("state") or {}).get("phase") or "",
        (meta.get("labels") or {}).get(_TYPE) or "Batch",
        str(sum(task.get("replicas") or 0 for task in tasks)),
        *(str(status.get(key) or 0) for key in _COUNTS),
    )


def one_flags(parser: ArgumentParser, *, swapped: bool = False) -> None:
    vcctl.named(parser, "job", swapped=swapped)


def order(server: Server, arguments: Namespace, *, action: str) -> str:
    job = server.json("GET", _path(server, arguments))
    vcctl.order(server, job, action, server.namespace)
    return ""


suspend: Final = partial(order, action="AbortJob")
resume: Final = partial(order, action="ResumeJob")


def delete(server: Server, arguments: Namespace) -> str:
    server.json("DELETE", _path(server, arguments), body=_OPTIONS)
    return f"{arguments.verb} job {arguments.name} successfully"


_OPTIONS: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "DeleteOptions",
    "propagationPolicy": "Background",
}


def _path(server: Server, arguments: Namespace) -> str:
    if not arguments.name:
        raise Wrong(f"job name is mandatory to {arguments.verb} a particular job")
    return vcctl.path(BATCH, "jobs", server.namespace, arguments.name)


_JOB_LABEL: Final = "volcano.sh/job-name"
_QUEUE: Final = "volcano.sh/queue-name"
_QUEUE_ASKED: Final = "scheduling.volcano.sh/queue-name"
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_POD_TITLES: Final[tuple[str, ...]] = ("Name", "Ready", "Status", "Restart", "Age")
_POD_COLUMNS: Final = ("Name", "Ready", "Status", "Restarts", "Age")
_SPACING: Final = 8


def pods_flags(parser: ArgumentParser) -> None:
    vcctl.namespaced(parser)
    parser.add_argument("--queue", "-q", default="", metavar="Q", help="only those in this queue")
    parser.add_argument("--job", "-j", default="", metavar="JOB", help="only those of this Job")
    parser.add_argument("--all-namespaces", action="store_true", help="in all namespaces")


def pods(server: Server, arguments: Namespace) -> str:
    namespace = "" if arguments.all_namespaces else server.namespace
    query = {"includeObject": "Metadata"}
    if arguments.job:
        query["labelSelector"] = f"{_JOB_LABEL} in ({arguments.job})"
    elif not arguments.queue:
        query["labelSelector"] = _JOB_LABEL
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
    shown = [tuple(str(row["cells"][places.index(name)]) for name in _POD_COLUMNS) for row in rows]
    titles = _POD_TITLES
    if arguments.all_namespaces:
        titles = ("Namespace", *titles)
        shown = [
            (row["object"]["metadata"]["namespace"], *cells) for row, cells in zip(rows, shown, strict=True)
        ]
    return columns.fitted([titles, *shown], _SPACING, header=False)


def _fits(row: Obj, queue: str) -> bool:
    labels = row["object"]["metadata"].get("labels") or {}
    return bool(labels.get(_QUEUE, queue) == queue)


def _belongs(row: Obj, queue: str) -> bool:
    meta = row["object"]["metadata"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    return queue in (labels.get(_QUEUE), annotations.get(_QUEUE_ASKED))
