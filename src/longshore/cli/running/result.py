"""The result of all runs: the exit code, and JSON for programs."""

from __future__ import annotations

from typing import Final, Literal

from longshore.api import indexes
from longshore.api.types import Obj
from longshore.cli.running.progress import Failed, FollowedRun

Outcome = Literal["complete", "failed", "timed out", "interrupted", "closed"]
CODES: Final[dict[Outcome, int]] = {
    "complete": 0,
    "failed": 1,
    "timed out": 124,
    "interrupted": 130,
    "closed": 141,  # standard output has lost its reader: the code of a shell for SIGPIPE
}


def of(runs: list[FollowedRun], stopped: Outcome | None) -> Outcome:
    """The result of all runs. `stopped` says why the wait ended early; None if it did not."""
    if stopped == "closed":
        return stopped
    if all(run.end is not None for run in runs):
        return "complete" if all(run.end.well for run in runs if run.end) else "failed"
    return stopped or "failed"


def document(
    runs: list[FollowedRun], outcome: Outcome, code: int, seconds: float, server: str, said: list[str]
) -> Obj:
    return {
        "result": outcome,
        "exitCode": code,
        "seconds": round(seconds, 3),
        "server": server,
        "runs": [of_run(run) for run in runs],
        "notes": said,
    }


def of_run(run: FollowedRun) -> Obj:
    """The end, the counts and the failures of one run."""
    end = run.end
    out: Obj = {
        "kind": {"job": "Job", "pod": "Pod", "vcjob": "VolcanoJob"}[run.kind],
        "namespace": run.namespace,
        "name": run.name,
        "uid": run.uid,
        "result": "unfinished" if end is None else "complete" if end.well else "failed",
        "reason": end.reason if end else "",
        "message": end.message if end else "",
        "completions": run.total,
        "succeeded": run.succeeded,
        "failedPods": run.failed,
        "active": run.active,
        "seconds": round((run.finished or run.started) - run.started, 3),
        "failures": [failure(each) for each in run.failures],
    }
    if run.indexed:
        out["completedIndexes"], out["failedIndexes"] = indexes.write(run.done), indexes.write(run.lost)
    if run.items:
        lost = [index for first, last in run.lost for index in range(first, last + 1)]
        out["failedItems"] = [readable(run.item(index)) for index in lost]
    return out


def readable(item: str) -> str:
    """The item as JSON can have it: bytes that are no text become `\\xff`."""
    return item.encode(errors="surrogateescape").decode(errors="backslashreplace")


def failure(failed: Failed) -> Obj:
    return {
        "pod": failed.pod,
        "index": failed.index,
        **({"item": readable(failed.item)} if failed.item else {}),
        "why": failed.why,
        "exitCode": failed.exit_code,
        "log": failed.lines,
    }
