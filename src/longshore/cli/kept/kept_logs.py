"""`longshore logs RUN` for a throw-away run: its output, item after item."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple
from zipfile import BadZipFile, ZipFile

from longshore.cli.kept.run_records import LIVE, LOGS, KeptObject, Record
from longshore.cli.main import Failure


class _Log(NamedTuple):
    """One run of one container."""

    number: int
    pod: str
    container: str
    attempt: int
    path: str


class _Files:
    """The log files of a run, by `NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log`: packed, or of one that runs."""

    def __init__(self, record: Record, stack: ExitStack) -> None:
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


def show(record: Record, chosen: KeptObject | None, arguments: Namespace) -> int:
    """Prints the logs of the run, or of one object of it. Returns the exit code: 1 when there is none."""
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
