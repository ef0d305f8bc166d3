"""Reads the records of throw-away runs. A truncated record counts as far as it goes.

Standard library only, because `history` and `logs` answer at once.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from longshore.api import indexes
from longshore.api.indexes import Runs
from longshore.api.types import Obj
from longshore.cli.server import data_dir

JOURNAL: Final = "journal"
LIVE: Final = "live"
"""The data directory of a longshore that still runs, or died, below the directory of its run."""
CERTIFICATES: Final = "run-pki"
"""The directory in the data directory with the certificates of throw-away runs: making them takes 25 ms."""
LOGS: Final = "logs.zip"
"""The file with the logs of a run that has ended: NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log."""


@dataclass(slots=True)
class KeptObject:
    """A Job, pod or Volcano Job of a run."""

    kind: str
    """`job`, `pod` or `vcjob`."""
    obj: Obj
    done: Runs = ()
    """Completed indexes, as far as they were recorded."""
    failures: list[Obj] = field(default_factory=list)
    document: Obj = field(default_factory=dict)
    """The result as `run -o json` prints it; empty for a run that was killed."""
    story: Obj = field(default_factory=dict)
    """The story as `longshore why` prints it; empty for a run that was killed."""

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def completions(self) -> int | None:
        total: int | None = self.obj["spec"].get("completions") if self.kind == "job" else 1
        return self.document.get("completions", total)

    @property
    def succeeded(self) -> int:
        return int(self.document.get("succeeded", indexes.count(self.done)))

    def job(self) -> Obj:
        """The Job with the part of its status that is known."""
        status: Obj = {"succeeded": self.succeeded, "completedIndexes": indexes.write(self.done)}
        if self.document.get("result") == "complete":
            status["conditions"] = [{"type": "Complete", "status": "True"}]
        return {**self.obj, "status": status}


@dataclass(slots=True)
class RunRecord:
    directory: Path
    begun: float
    command: str = ""
    cwd: str = ""
    needed: list[Obj] = field(default_factory=list)
    """Objects that were applied for the runs."""
    objects: dict[str, KeptObject] = field(default_factory=dict)
    """Objects of the run by uid."""
    ended: float | None = None
    result: str = "interrupted"
    """The result that `run -o json` prints; `running` while the process lives."""
    size: int | None = None
    """Bytes of the directory; None before it is tidied."""

    @property
    def id(self) -> str:
        return self.directory.name

    def named(self, name: str) -> KeptObject | None:
        return next((each for each in self.objects.values() if each.name == name), None)


def root() -> Path:
    """The directory of all records."""
    return data_dir.directory(Namespace(data_dir=None)) / "runs"


def every(directory: Path) -> Iterator[RunRecord]:
    """All records that can be read, the newest first."""
    found = sorted(directory.iterdir(), reverse=True) if directory.is_dir() else []
    for each in found:
        if (record := read(each)) is not None:
            yield record


def find(word: str) -> tuple[RunRecord, KeptObject | None] | None:
    """The newest run with an object of this name, as `NAME` or `KIND/NAME`; or the run of this id."""
    kind, _, name = word.rpartition("/")
    for record in every(root()):
        if record.id == word:
            return record, None
        found = record.named(name)
        if found is not None and kind in ("", found.kind, f"{found.kind}s"):
            return record, found
    return None


def read(directory: Path) -> RunRecord | None:
    """The record of one run; None if there is none, or its beginning is missing."""
    record: RunRecord | None = None
    for line in lines(directory):
        if "begun" in line:
            record = RunRecord(
                directory, line["begun"], line.get("command", ""), line.get("directory", ""), line["needed"]
            )
        elif record is not None:
            _take(record, line)
    if record is None or not record.objects:
        return None
    if record.ended is None and data_dir.holder(directory / LIVE) is not None:
        record.result = "running"
    return record


def lines(directory: Path) -> list[dict[str, Any]]:
    """The complete lines of a journal."""
    try:
        content = (directory / JOURNAL).read_bytes()
    except OSError:
        return []
    out: list[dict[str, Any]] = []
    for line in content.split(b"\n")[:-1]:
        try:
            found = json.loads(line)
        except ValueError:
            break
        if not isinstance(found, dict):
            break
        out.append(found)
    return out


def _take(record: RunRecord, line: dict[str, Any]) -> None:
    kept = record.objects.get(line.get("uid", ""))
    if "object" in line:
        record.objects[line["uid"]] = KeptObject(line["kind"], line["object"])
    elif kept is not None and "done" in line:
        total = kept.obj["spec"].get("completions") or 0
        kept.done = indexes.merge(kept.done, indexes.read(line["done"], total))
    elif kept is not None and "failure" in line:
        kept.failures.append(line["failure"])
    elif kept is not None and "story" in line:
        kept.story = line["story"]
    elif "result" in line:
        record.ended, record.result, record.size = line["ended"], line["result"], line.get("size")
        for document in line.get("runs") or ():
            if (one := record.objects.get(document["uid"])) is not None:
                one.document, one.failures = document, document["failures"]
                total = one.obj["spec"].get("completions") or 0
                one.done = indexes.read(document.get("completedIndexes", ""), total)
