"""The directories of throw-away runs: made at the start, tidied at the end, and limited in number and size.

At most 100 runs of the last 7 days with 256 MiB in all are kept. Of one run at most 5,000 pods keep their
logs, failed pods first: 8 MiB of each log and 64 MiB together, packed into one file, because a thousand small
files take 12 MB of most disks.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from longshore.api import indexes
from longshore.api.indexes import Runs
from longshore.api.types import Obj
from longshore.cli.kept import run_records
from longshore.cli.kept.run_records import JOURNAL, LIVE, LOGS, RunRecord
from longshore.cli.running import result
from longshore.cli.running.progress import Failed, FollowedRun
from longshore.cli.server import data_dir

MAX_RUNS: Final = 100
MAX_AGE_SECONDS: Final = 7 * 86400.0
MAX_BYTES: Final = 256 << 20
MAX_RUN_LOGS: Final = 5000
MAX_RUN_BYTES: Final = 64 << 20
MAX_LOG_BYTES: Final = 8 << 20
_STARTING_SECONDS: Final = 600.0
"""Seconds for which a directory without a record is left alone: its run may be about to begin."""
_ARCHIVED: Final = re.compile(r"\d{13}_(.+)")
"""The name that the node's archive gives the logs of a pod that is gone."""


def begin(root: Path, now: float) -> Path:
    """Makes a new directory for a run, named so that later runs sort after earlier ones: two runs of one
    second differ by their milliseconds. Raises OSError if it cannot be made."""
    root.mkdir(mode=0o700, exist_ok=True)
    second = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    made = root / f"{second}.{int(now % 1 * 1000):03}-{secrets.token_hex(2)}"
    made.mkdir(mode=0o700)
    return made


def tidy(directory: Path, now: float) -> None:
    """Keeps the logs of a run whose longshore has ended, and removes its other files. Leaves a run alone that
    another process is already tidying."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _tidy(directory, now)
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)


def _tidy(directory: Path, now: float) -> None:
    record = run_records.read(directory)
    if record is None:
        shutil.rmtree(directory, ignore_errors=True)
        return
    if (directory / LIVE).is_dir():
        _pack_logs(record)
    shutil.rmtree(directory / LIVE, ignore_errors=True)
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    lines = run_records.lines(directory)
    is_summed_up = "runs" in lines[-1]  # the last line summarizes the run
    kept = [line for line in lines if not (is_summed_up and ("done" in line or "failure" in line))]
    if "result" not in kept[-1]:
        kept.append({"ended": now, "result": "interrupted"})
    kept[-1]["size"] = size
    _replace(directory / JOURNAL, kept)


def prune(root: Path, now: float) -> None:
    """Tidies runs that were killed, and removes those that are too old, too many or too large."""
    count = size = 0
    for directory in sorted(root.iterdir(), reverse=True):
        if data_dir.holder(directory / LIVE) is not None:
            continue
        record = run_records.read(directory)
        if record is None:
            if now - directory.stat().st_mtime > _STARTING_SECONDS:
                shutil.rmtree(directory, ignore_errors=True)
            continue
        if record.size is None:
            tidy(directory, record.ended or (directory / JOURNAL).stat().st_mtime)
            record = run_records.read(directory) or record
        count, size = count + 1, size + (record.size or 0)
        if count > MAX_RUNS or size > MAX_BYTES or now - record.begun > MAX_AGE_SECONDS:
            shutil.rmtree(directory, ignore_errors=True)


def _pack_logs(record: RunRecord) -> None:
    """Packs the logs in the node's directory into one file, up to the limits."""
    node, target = record.directory / LIVE / "node", record.directory / LOGS
    sources = {name: node / "logs" / name for name in _names(node / "logs")}
    for name in _names(node / "archive"):
        if match := _ARCHIVED.fullmatch(name):
            sources[match[1]] = node / "archive" / name
    if not sources:
        return
    failed = {failure["pod"] for each in record.objects.values() for failure in each.failures}
    order = sorted(sources, key=lambda name: (name.split("_")[1] not in failed, name))
    beside = target.with_name(f".{target.name}")
    left = MAX_RUN_BYTES
    with ZipFile(beside, "w", ZIP_DEFLATED, compresslevel=1) as packed:
        for name in order[:MAX_RUN_LOGS]:
            for file in sources[name].glob("*/*.log*"):
                content = _last_lines(file)
                left -= len(content)
                if left >= 0:
                    packed.writestr(f"{name}/{file.parent.name}/{file.name}", content)
    beside.replace(target)


def _names(directory: Path) -> list[str]:
    return os.listdir(directory) if directory.is_dir() else []


def _last_lines(file: Path) -> bytes:
    """A log, or as many of its last lines as fit the limit."""
    with file.open("rb") as log:
        size = os.fstat(log.fileno()).st_size
        if size > MAX_LOG_BYTES:
            log.seek(size - MAX_LOG_BYTES)
            log.readline()
        return log.read()


def _replace(path: Path, lines: list[dict[str, Any]]) -> None:
    """Replaces a journal by these lines in one step."""
    beside = path.with_name(f".{path.name}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    beside.replace(path)


# The record of a throw-away run while it runs: one JSON document a line, each written as it happens.
#
# A line that is not whole was written when the process died; readers end there (`run_records.py`). At the end
# `shelf.py` puts a shorter journal in its place, in one step.

_MAX_STORY_LINES: Final = 200


class RunJournal:
    """The journal in `directory`, which exists. Nothing is written before `created`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._file: IO[str] | None = None
        self._told: dict[str, tuple[str, Runs]] = {}
        """The last recorded list of completed indexes, as text and as runs, by uid."""

    def created(self, runs: Sequence[FollowedRun], needed: Sequence[Obj], command: str) -> None:
        """Records the runs, the objects that were applied for them, and the command line."""
        descriptor = os.open(self.directory / JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "a")
        first = {
            "begun": time.time(),
            "command": result.readable(command),
            "directory": os.getcwd(),
            "needed": [*needed],
        }
        self._write(first)
        for run in runs:
            self._write({"uid": run.uid, "kind": run.kind, "object": _slim(run.created)})
            self.changed(run)

    def changed(self, run: FollowedRun) -> None:
        """Records indexes that were completed since the last call."""
        text, before = self._told.get(run.uid, ("", ()))
        if self._file is None or not run.indexed or run.lists[0] == text:
            return
        done = run.done
        self._told[run.uid] = run.lists[0], done
        self._write({"uid": run.uid, "done": indexes.write(indexes.without(done, before))})

    def failure(self, run: FollowedRun, failed: Failed) -> None:
        self._write({"uid": run.uid, "failure": result.failure(failed)})

    def story(self, run: FollowedRun, story: Obj) -> None:
        """Records the story of a run, up to the limit of lines."""
        self._write({"uid": run.uid, "story": {**story, "story": story["story"][-_MAX_STORY_LINES:]}})

    def ended(self, runs: Sequence[FollowedRun], outcome: result.Outcome, code: int) -> None:
        """Records how all runs ended."""
        documents = [result.of_run(run) for run in runs]
        self._write({"ended": time.time(), "result": outcome, "exitCode": code, "runs": documents})

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError:  # a full disk: the run matters more than its record
            self._file = None


def _slim(obj: Obj) -> Obj:
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {"metadata": meta, "spec": obj.get("spec") or {}}
