"""`longshore logs RUN` for a throw-away run that has ended: its output, item after item."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from longshore.cli.kept.run_records import LIVE, LOGS, KeptObject, Record
from longshore.cli.main import Failure


class _Log(NamedTuple):
    """One run of one container."""

    number: int
    pod: str
    container: str
    attempt: int
    path: Path


def show(record: Record, chosen: KeptObject | None, arguments: Namespace) -> int:
    """Prints the logs of the run, or of one object of it. Returns the exit code: 1 when there is none."""
    if arguments.follow:
        raise Failure(f"the run {record.id} cannot be followed: it belongs to another process", 2)
    found = sorted(
        log
        for one in ([chosen] if chosen is not None else record.objects.values())
        for log in _logs(record, one, only_failed=arguments.failed)
        if arguments.container in ("", log.container)
    )
    if not found:
        print(f"no output of the run {record.id} is kept", file=sys.stderr)
        return 1
    several = len({log.pod for log in found}) > 1
    containers = len({log.container for log in found}) > 1
    for log in found:
        name = f"{log.pod}/{log.container}" if containers else log.pod
        _copy(log, f"[{name}] ".encode() if several or arguments.prefix else b"", arguments)
    return 0


def _logs(record: Record, one: KeptObject, *, only_failed: bool) -> Iterator[_Log]:
    failed = {failure["pod"] for failure in one.failures}
    indexed = one.obj["spec"].get("completionMode") == "Indexed"
    for place in (record.directory / LOGS, record.directory / LIVE / "node" / "logs"):
        for directory in place.iterdir() if place.is_dir() else ():
            pod = directory.name.split("_")[1]
            if pod != one.name and not pod.startswith(f"{one.name}-"):
                continue
            if only_failed and pod not in failed:
                continue
            match = re.match(r"(\d+)-", pod[len(one.name) + 1 :]) if indexed else None
            shown = f"{one.name}-{match[1]}" if match else pod
            for file in directory.glob("*/*.log"):
                number = int(match[1]) if match else 0
                yield _Log(number, shown, file.parent.name, int(file.stem), file)


def _copy(log: _Log, prefix: bytes, arguments: Namespace) -> None:
    lines = _lines(log.path, timestamps=arguments.timestamps)
    tail = arguments.tail
    for line in lines if tail is None or tail < 0 else deque(lines, tail):
        sys.stdout.buffer.write(
            prefix + line if line.endswith(b"\n") or not prefix else prefix + line + b"\n"
        )
    sys.stdout.buffer.flush()


def _lines(path: Path, *, timestamps: bool) -> Iterator[bytes]:
    """The lines of a log in all its files, as they were written."""
    older = sorted(path.parent.glob(f"{path.name}.*"), key=lambda file: -int(file.suffix[1:]))
    begun = b""
    for file in (*older, path):
        with file.open("rb") as stored:
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
