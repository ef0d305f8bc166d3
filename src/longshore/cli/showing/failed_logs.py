"""`logs --failed`: the logs and ends of failed pods, deleted ones included.

The longshore that ran a deleted pod keeps its logs (`up/failed_pods.py`) until its archive needs the
space.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.main import Failure
from longshore.cli.server.requests import Server, escaped

_PAGE: Final = "/longshore/failed"
_JOBS: Final = ("job", "jobs", "jobs.batch", "job.batch")
_PODS: Final = ("pod", "pods", "po")


def show(server: Server, arguments: Namespace) -> int:
    """Prints all records, oldest first. Returns the exit code: 1 when there is none."""
    kind, _, name = arguments.words[0].rpartition("/") if arguments.words else ("", "", "")
    if not name or (kind and kind not in _JOBS + _PODS):
        raise Failure("--failed is for a Job or a pod: longshore logs --failed job/NAME", 2)
    plural = "jobs" if kind in _JOBS else "pods"
    shown = 0
    for record in _gone(server, plural, name):
        for run in record["containers"]:
            ended = run.get("ended") or run.get("endedBefore") or {}
            if not _wanted(run["name"], ended, arguments.container):
                continue
            uid, attempt = escaped(record["uid"]), run["attempt"]
            path = f"{_PAGE}/logs/{uid}/{escaped(run['name'])}/{attempt}"
            _print(record, run["name"], ended, _log(server, path), arguments.tail)
            shown += 1
    for pod in _there(server, plural, name):
        status = pod["status"]
        meta = pod["metadata"]
        for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
            ended = (each.get("state") or {}).get("terminated") or {}
            if not _wanted(each["name"], ended, arguments.container):
                continue
            path = f"/api/v1/namespaces/{server.namespace}/pods/{escaped(meta['name'])}/log"
            answer = server.request("GET", path, query={"container": each["name"]}, accept="*/*")
            text = answer.body.decode(errors="replace") if answer.code == 200 else ""
            _print({**meta, **status}, each["name"], ended, text, arguments.tail)
            shown += 1
    if not shown:
        print(
            f"no failed pod of {arguments.words[0]} is known in namespace {server.namespace}", file=sys.stderr
        )
    return 0 if shown else 1


def _gone(server: Server, plural: str, name: str) -> list[Obj]:
    path = f"{_PAGE}/namespaces/{escaped(server.namespace)}/{plural}/{escaped(name)}"
    try:
        items: list[Obj] = server.json("GET", path)["items"]
    except StatusError as err:
        if err.code != 404:  # not a longshore, or one without a node
            raise
        return []
    return items


def _there(server: Server, plural: str, name: str) -> list[Obj]:
    query = {"fieldSelector": "status.phase=Failed"}
    if plural == "jobs":
        query["labelSelector"] = f"batch.kubernetes.io/job-name={name}"
    else:
        query["fieldSelector"] += f",metadata.name={name}"
    items: list[Obj] = server.json("GET", f"/api/v1/namespaces/{server.namespace}/pods", query=query)["items"]
    return sorted(items, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")))


def _wanted(container: str, ended: Obj, asked: str) -> bool:
    """The container of the arguments, or without one the containers that failed."""
    return container == asked if asked else bool(ended.get("exitCode"))


def _log(server: Server, path: str) -> str:
    try:
        text: str = server.json("GET", path)["text"]
    except StatusError as err:
        if err.code != 404:  # it wrote nothing
            raise
        return ""
    return text


def _print(record: Obj, container: str, ended: Obj, text: str, tail: int | None) -> None:
    code, reason = ended.get("exitCode"), ended.get("reason", "")
    how = f"exit code {code}" if code is not None else record.get("reason", "failed")
    how += f" ({reason})" if reason not in ("", "Error") else ""
    when = f", {ended['finishedAt']}" if ended.get("finishedAt") else ""
    print(f"==> pod/{record['name']} {container}: {how}{when} <==")
    lines = text.splitlines()
    for line in lines if tail is None or tail < 0 else lines[len(lines) - min(tail, len(lines)) :]:
        print(line)
