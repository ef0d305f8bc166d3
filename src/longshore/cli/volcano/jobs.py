"""Volcano Jobs: run, list, suspend, resume, delete."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
        return vcctl.columns(rows, widths)
    return vcctl.columns([row[1:] for row in rows], widths[1:])


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


def suspend(server: Server, arguments: Namespace) -> str:
    return _command(server, arguments, "AbortJob")


def resume(server: Server, arguments: Namespace) -> str:
    return _command(server, arguments, "ResumeJob")


def _command(server: Server, arguments: Namespace, action: str) -> str:
    vcctl.order(server, _get(server, arguments), action, server.namespace)
    return ""


def delete(server: Server, arguments: Namespace) -> str:
    _mandatory(arguments)
    server.json("DELETE", vcctl.path(BATCH, "jobs", server.namespace, arguments.name), body=_OPTIONS)
    return f"delete job {arguments.name} successfully"


_OPTIONS: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "DeleteOptions",
    "propagationPolicy": "Background",
}


def _get(server: Server, arguments: Namespace) -> Obj:
    _mandatory(arguments)
    return server.json("GET", vcctl.path(BATCH, "jobs", server.namespace, arguments.name))


def _mandatory(arguments: Namespace) -> None:
    if not arguments.name:
        raise Wrong(f"job name is mandatory to {arguments.verb} a particular job")
