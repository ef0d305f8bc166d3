"""The record of a throw-away run while it runs: one JSON document a line, each written as it happens.

A line that is not whole was written when the process died; readers end there (`run_records.py`). At the end
`shelf.py` puts a shorter journal in its place, in one step.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

from longshore.api import indexes
from longshore.api.indexes import Runs
from longshore.api.types import Obj
from longshore.cli.kept.run_records import JOURNAL
from longshore.cli.running import result
from longshore.cli.running.progress import Failed, Run

_MAX_STORY_LINES: Final = 200


class RunJournal:
    """In `directory`, which exists. Nothing is written before `created`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._file: IO[str] | None = None
        self._told: dict[str, tuple[str, Runs]] = {}
        """By uid: the list of completed indexes that was written last, as text and as runs."""

    def created(self, runs: Sequence[Run], needed: Sequence[Obj], command: str) -> None:
        """The runs, the objects that were applied for them, and what the person typed."""
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

    def changed(self, run: Run) -> None:
        """Notes indexes that were completed since the last time."""
        text, before = self._told.get(run.uid, ("", ()))
        if self._file is None or not run.indexed or run.lists[0] == text:
            return
        done = run.done
        self._told[run.uid] = run.lists[0], done
        self._write({"uid": run.uid, "done": indexes.write(indexes.without(done, before))})

    def failure(self, run: Run, failed: Failed) -> None:
        self._write({"uid": run.uid, "failure": result.failure(failed)})

    def story(self, run: Run, story: Obj) -> None:
        """Keeps what `longshore why` tells of it, as much of it as a person reads."""
        self._write({"uid": run.uid, "story": {**story, "story": story["story"][-_MAX_STORY_LINES:]}})

    def ended(self, runs: Sequence[Run], outcome: result.Outcome, code: int) -> None:
        """Notes how it all ended."""
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
