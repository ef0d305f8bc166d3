"""The rows of `longshore history`: throw-away runs from their records, and Jobs of a server."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from longshore.api.facts import job_state, own_names
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.cli.kept.run_records import KeptObject, Record


@dataclass(slots=True)
class Row:
    """One Job, pod or Volcano Job."""

    kind: str
    """`job`, `pod` or `vcjob`."""
    name: str
    result: str
    """`complete`, `failed`, `interrupted`, `timed out`, `suspended`, `running` or `deleted`."""
    begun: float
    """Seconds since 1970; so is `ended`, None for a run that has not ended."""
    ended: float | None
    completions: int | None
    succeeded: int
    failed: int
    where: str
    """`throw-away`, `server`, or `deleted` for a Job that the server only remembers."""
    id: str = ""
    """The id of a throw-away run."""
    namespace: str = "default"
    command: str = ""
    retry_of: str = ""
    failure: str = ""
    """The last failure."""

    @property
    def counts(self) -> str:
        return f"{self.succeeded}/{self.completions}" if self.completions is not None else str(self.succeeded)

    @property
    def note(self) -> str:
        return "; ".join(
            [f"retry of {self.retry_of}"] * bool(self.retry_of) + [self.failure] * bool(self.failure)
        )

    def document(self) -> dict[str, Any]:
        """For programs."""
        found = asdict(self)
        found["retryOf"] = found.pop("retry_of")
        for key in ("begun", "ended"):
            found[key] = rfc3339.from_seconds(found[key]) if found[key] is not None else None
        return found


def order(row: Row) -> tuple[int, bool, float]:
    """The key that sorts rows, oldest first. Servers tell whole seconds, records parts of them: within a
    second a retry comes after what it retries."""
    return int(row.begun), bool(row.retry_of), row.begun


def of_record(record: Record) -> list[Row]:
    """The objects of a throw-away run."""
    return [_kept(record, one) for one in record.objects.values()]


def _kept(record: Record, one: KeptObject) -> Row:
    ended = one.document.get("result")
    failure = one.failures[-1] if one.failures else None
    annotations = one.obj["metadata"].get("annotations") or {}
    return Row(
        one.kind,
        one.name,
        ended if ended in ("complete", "failed") else record.result,
        record.begun,
        record.ended,
        one.completions,
        one.succeeded,
        one.document.get("failedPods", len(one.failures)),
        "throw-away",
        record.id,
        one.obj["metadata"].get("namespace", "default"),
        record.command,
        annotations.get(own_names.RETRY_OF, ""),
        _words(failure) if failure is not None else "",
    )


def _words(failure: Obj) -> str:
    who = f"index {failure['index']}" if failure.get("index") is not None else f"pod {failure['pod']}"
    item = f" ({failure['item']})" if failure.get("item") else ""
    return f"{who}{item}: {failure['why']}"


def of_job(job: Obj, record: Obj) -> Row:
    """A Job as the server has it, with its record if it has ended."""
    meta, spec, status = job["metadata"], job["spec"], job.get("status") or {}
    end = job_state.end_of(job)
    result = "suspended" if spec.get("suspend") else "running"
    ended, failure = None, ""
    if end is not None:
        result = "complete" if end["type"] == "Complete" else "failed"
        ended = rfc3339.seconds(end["lastTransitionTime"]) if end.get("lastTransitionTime") else None
        if result == "failed":
            failure = record.get("lastFailure") or _cause(end)
    return Row(
        "job",
        meta["name"],
        result,
        rfc3339.seconds(status.get("startTime") or meta["creationTimestamp"]),
        ended,
        spec.get("completions"),
        status.get("succeeded", 0),
        status.get("failed", 0),
        "server",
        "",
        meta["namespace"],
        "",
        (meta.get("annotations") or {}).get(own_names.RETRY_OF, ""),
        failure,
    )


def _cause(told: Obj) -> str:
    """Reason and message of a condition or a record, of which either may be missing."""
    return ": ".join(part for part in (told.get("reason"), told.get("message")) if part)


def of_gone(record: Obj) -> Row:
    """A Job that the server remembers (`plane/job_history.py`)."""
    failure = record.get("lastFailure", "")
    if not failure and record["result"] == "failed":
        failure = _cause(record)
    return Row(
        "job",
        record["job"],
        record["result"],
        rfc3339.seconds(record.get("startTime") or record["endTime"]),
        rfc3339.seconds(record["endTime"]),
        record.get("completions"),
        record["succeeded"],
        record["failed"],
        "deleted",
        "",
        record["metadata"]["namespace"],
        "",
        record.get("retryOf", ""),
        failure,
    )
