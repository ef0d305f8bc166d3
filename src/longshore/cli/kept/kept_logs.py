"""`longshore logs RUN` for a throw-away run: its output, item after item."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final, NamedTuple
from zipfile import BadZipFile, ZipFile

from longshore.api.errors import StatusError
from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.cli.kept.run_records import LIVE, LOGS, KeptObject, RunRecord
from longshore.cli.main import Failure
from longshore.cli.server.requests import Server, escaped


class _Log(NamedTuple):
    """One run of one container."""

    number: int
    pod: str
    container: str
    attempt: int
    path: str


class _Files:
    """The log files of a run, by `NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log`: packed, or of a run under way."""

    def __init__(self, record: RunRecord, stack: ExitStack) -> None:
        self._live = record.directory / LIVE / "node" / "logs"
        self._packed: ZipFile | None = None
        try:
            self._packed = stack.enter_context(ZipFile(record.directory / LOGS))
            self.names = self._packed.namelist()
        except (OSError, BadZipFile):
            self.names = [str(file.relative_to(self._live)) for file in self._live.glob("*/*/*.log*")]
        self._rotated = [name for name in self.names if not name.endswith(".log")]

    def of(self, name: str) -> list[str]:
        """The files of one log, oldest first."""
        older = [each for each in self._rotated if each.startswith(f"{name}.")]
        return [*sorted(older, key=lambda each: -int(each.rpartition(".")[2])), name]

    def open(self, name: str) -> IO[bytes]:
        return self._packed.open(name) if self._packed is not None else Path(self._live / name).open("rb")


def show(record: RunRecord, chosen: KeptObject | None, arguments: Namespace) -> int:
    """Prints the logs of the run, or of one object of it. Returns the exit code: 1 if there is no log."""
    if arguments.follow:
        raise Failure(f"the run {record.id} cannot be followed: it belongs to another process", 2)
    with ExitStack() as stack:
        files = _Files(record, stack)
        found = sorted(
            log
            for one in ([chosen] if chosen is not None else record.objects.values())
            for log in _logs(files.names, one, only_failed=arguments.failed)
            if arguments.container in ("", log.container)
        )
        if not found:
            print(f"no output of the run {record.id} is kept", file=sys.stderr)
            return 1
        several = len({log.pod for log in found}) > 1
        containers = len({log.container for log in found}) > 1
        for log in found:
            name = f"{log.pod}/{log.container}" if containers else log.pod
            _copy(files, log, f"[{name}] ".encode() if several or arguments.prefix else b"", arguments)
    return 0


def _logs(names: Iterable[str], one: KeptObject, *, only_failed: bool) -> Iterator[_Log]:
    failed = {failure["pod"] for failure in one.failures}
    indexed = one.obj["spec"].get("completionMode") == "Indexed"
    for name in names:
        directory, container, file = name.split("/")
        pod = directory.split("_")[1]
        ours = pod == one.name or pod.startswith(f"{one.name}-")
        if not ours or not file.endswith(".log") or (only_failed and pod not in failed):
            continue
        match = re.match(r"(\d+)-", pod[len(one.name) + 1 :]) if indexed else None
        shown = f"{one.name}-{match[1]}" if match else pod
        yield _Log(int(match[1]) if match else 0, shown, container, int(file.removesuffix(".log")), name)


def _copy(files: _Files, log: _Log, prefix: bytes, arguments: Namespace) -> None:
    lines = _lines(files, log.path, timestamps=arguments.timestamps)
    tail = arguments.tail
    for line in lines if tail is None or tail < 0 else deque(lines, tail):
        sys.stdout.buffer.write(
            prefix + line if line.endswith(b"\n") or not prefix else prefix + line + b"\n"
        )
    sys.stdout.buffer.flush()


def _lines(files: _Files, path: str, *, timestamps: bool) -> Iterator[bytes]:
    """The lines of a log in all its files, as they were written."""
    begun = b""
    for name in files.of(path):
        with files.open(name) as stored:
            for line in stored:
                parts = line.removesuffix(b"\n").split(b" ", 3)
                if len(parts) != 4 or parts[2] == b"R":
                    continue
                if timestamps and not begun:
                    begun = parts[0] + b" "
                begun += parts[3]
                if parts[2] == b"F":
                    yield begun + b"\n"
                    begun = b""
    if begun:
        yield begun


# `logs --failed`: the logs and ends of failed pods, deleted ones included.
#
# The longshore that ran a deleted pod keeps its logs (`up/own_pages.py`) until its archive needs the
# space.

_PAGE: Final = "/longshore/failed"
_JOBS: Final = ("job", "jobs", "jobs.batch", "job.batch")
_PODS: Final = ("pod", "pods", "po")


def show_failed(server: Server, arguments: Namespace) -> int:
    """Prints all records, oldest first. Returns the exit code: 1 if there is no record."""
    kind, _, name = arguments.words[0].rpartition("/") if arguments.words else ("", "", "")
    if not name or (kind and kind not in _JOBS + _PODS):
        raise Failure("--failed is for a Job or a pod: longshore logs --failed job/NAME", 2)
    plural = "jobs" if kind in _JOBS else "pods"
    shown = 0
    there = _there(server, plural, name)  # first: one that leaves meanwhile is then found below
    gone = _gone(server, plural, name)
    for record in gone:
        for run in record["containers"]:
            ended = run.get("ended") or run.get("endedBefore") or {}
            if not _wanted(run["name"], ended, arguments.container):
                continue
            uid, attempt = escaped(record["uid"]), run["attempt"]
            path = f"{_PAGE}/logs/{uid}/{escaped(run['name'])}/{attempt}"
            _print(record, run["name"], ended, _log(server, path), arguments.tail)
            shown += 1
    gone_uids = {record["uid"] for record in gone}
    for pod in there:
        status, meta = pod["status"], pod["metadata"]
        if meta["uid"] in gone_uids:
            continue
        for each in pod_state.statuses_of(pod):
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
    """Whether this is the container of the arguments; without one, whether the container failed."""
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
