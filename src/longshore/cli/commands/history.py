"""Lists runs, the newest first: throw-away runs of longshore run, and Jobs of the longshore that runs here.

longshore history                    the last 30
longshore history convert            those of this name, and its retries; the last words of one that failed
longshore history --cronjob nightly --since 24h    runs of a CronJob in the last day
longshore logs NAME                  the output of one; longshore retry NAME runs again what failed

A throw-away run leaves its record and its logs in the data directory for 7 days. A longshore that keeps
running remembers Jobs that have ended for 30 days, also after their deletion.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from longshore.api.facts import own_names
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.cli.arguments import flags
from longshore.cli.printing.columns import Columns
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.kept.run_records import KeptObject, RunRecord
    from longshore.cli.server.requests import Server

INTERMIXED = True
_FLAGS = """
name? NAME              text        only runs of this name, and their retries
--last N                int=30      at most N (default: 30)
--since T               seconds     only runs that ran within the last 5m, 24h
--cronjob NAME          text        only runs of this CronJob
--all-namespaces, -A    switch      in all namespaces
--output, -o json|wide  |json|wide  json, or wide: with the commands
"""


def add_arguments(parser: ArgumentParser) -> None:
    flags.table(parser, _FLAGS)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.kept import run_records

    rows = [row for record in run_records.every(run_records.root()) for row in of_record(record)]
    rows += _served(arguments)
    name = arguments.name.rpartition("/")[2]
    chosen = [row for row in rows if not name or row.name == name or row.name.startswith(f"{name}-retry-")]
    if arguments.cronjob:
        owner = f"CronJob/{arguments.cronjob.rpartition('/')[2]}"
        chosen = [row for row in chosen if row.owner == owner]
    if arguments.since is not None:
        first = time.time() - arguments.since
        chosen = [row for row in chosen if row.ended is None or row.ended >= first]
    chosen = sorted(chosen, key=order, reverse=True)[: max(0, arguments.last)]
    if arguments.output == "json":
        from longshore.cli.printing import objects

        sys.stdout.write(objects.as_json({"items": [row.document() for row in chosen]}))
        return 0
    if not chosen:
        print("no runs are known", file=sys.stderr)
        return 0
    sys.stdout.write(_table(chosen, wide=arguments.output == "wide"))
    if name and chosen[0].result == "failed" and chosen[0].record:
        sys.stdout.write(_last_words(arguments, chosen[0]))
    return 0


def _last_words(arguments: Namespace, row: Row) -> str:
    """The message and the last log lines that the server keeps of a Job that failed."""
    import json

    with connecting.opened(arguments) as server:
        where = f"/apis/longshore.dev/v1/namespaces/{row.namespace}/finishedjobs/{row.record}"
        answer = server.request("GET", where)
        record = json.loads(answer.body) if answer.code == 200 else {}
    if not record.get("lastWords"):
        return ""
    lines = "".join(f"  {line}\n" for line in record["lastWords"].splitlines())
    return f"\nthe last words of pod {record['lastPod']}:\n{lines}"


def _served(arguments: Namespace) -> list[Row]:
    """Jobs of the longshore that runs here, or of the server that the arguments name."""
    from longshore.cli.running import place

    if place.running(arguments.kubeconfig, arguments.context) is None and not arguments.context:
        return []
    with connecting.opened(arguments) as server:
        return known(server, everywhere=arguments.all_namespaces)


def known(server: Server, *, everywhere: bool) -> list[Row]:
    """The Jobs that a server has or remembers, of its namespace or of all."""
    import json

    where = "" if everywhere else f"/namespaces/{server.namespace}"
    jobs = server.json("GET", f"/apis/batch/v1{where}/jobs")["items"]
    answer = server.request("GET", f"/apis/longshore.dev/v1{where}/finishedjobs")
    remembered = json.loads(answer.body)["items"] if answer.code == 200 else []  # another server has none
    records = {record["metadata"]["uid"]: record for record in remembered}
    rows = [
        of_finished(record, "server")
        if (record := records.pop(job["metadata"]["uid"], None))
        else of_job(job)
        for job in jobs
    ]
    return rows + [of_finished(record, "deleted") for record in records.values()]


def _table(rows: list[Row], *, wide: bool) -> str:
    from longshore.cli.running.report_lines import span

    head = ["NAME", "RESULT", "COMPLETE", "STARTED", "TOOK", "WHERE", "NOTE"] + ["COMMAND"] * wide
    lines = [head]
    for row in rows:
        begun = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.begun))
        took = span(row.ended - row.begun) if row.ended is not None else ""
        where = row.id or ", ".join([row.where, *([row.namespace] if row.namespace != "default" else [])])
        cells = [row.name, row.result, row.counts, begun, took, where, " ".join(row.note.split())]
        lines.append(cells + [row.command] * wide)
    return Columns().lines(lines)


@dataclass(slots=True)
class Row:
    """One Job, pod or Volcano Job."""

    kind: str
    """`job`, `pod` or `vcjob`."""
    name: str
    result: str
    """`complete`, `failed`, `interrupted`, `timed out`, `suspended`, `running` or `deleted`."""
    begun: float
    """Seconds since 1970, as is `ended`, which is None for a run that has not ended."""
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
    owner: str = ""
    """`CronJob/nightly` for a Job of a CronJob, else empty."""
    record: str = ""
    """The name of the server's record of the Job."""
    pods_removed: str = ""
    """When the server removed the failed pods, in RFC 3339; empty if it did not."""

    @property
    def counts(self) -> str:
        return f"{self.succeeded}/{self.completions}" if self.completions is not None else str(self.succeeded)

    @property
    def note(self) -> str:
        removed = f"its pods were removed at {self.pods_removed}" if self.pods_removed else ""
        return "; ".join(filter(None, (self.retry_of and f"retry of {self.retry_of}", self.failure, removed)))

    def document(self) -> dict[str, Any]:
        """The row as JSON has it, for programs."""
        found = asdict(self)
        found["retryOf"], found["podsRemoved"] = found.pop("retry_of"), found.pop("pods_removed")
        for key in ("begun", "ended"):
            found[key] = rfc3339.millis_from_seconds(found[key]) if found[key] is not None else None
        return found


def order(row: Row) -> tuple[int, bool, float]:
    """The sort key of rows, oldest first. Running Jobs have whole seconds, others fractions; within a second
    a retry comes after the run that it retries."""
    return int(row.begun), bool(row.retry_of), row.begun


def of_record(record: RunRecord) -> list[Row]:
    """The objects of a throw-away run."""
    return [_of_kept(record, one) for one in record.objects.values()]


def _of_kept(record: RunRecord, one: KeptObject) -> Row:
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


def of_job(job: Obj) -> Row:
    """A Job of which the server has no record: one that has not ended, or that another cluster runs."""
    from longshore.api.facts import job_state
    from longshore.api.facts.owners import controller_of

    meta, spec, status = job["metadata"], job["spec"], job.get("status") or {}
    end, owner = job_state.end_of(job), controller_of(job)
    result = "suspended" if spec.get("suspend") else "running"
    ended, failure = None, ""
    if end is not None:
        result = "complete" if end["type"] == "Complete" else "failed"
        ended = _seconds(end["lastTransitionTime"]) if end.get("lastTransitionTime") else None
        failure = _cause(end) if result == "failed" else ""
    return Row(
        "job",
        meta["name"],
        result,
        _seconds(status.get("startTime") or meta["creationTimestamp"]),
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
        f"{owner['kind']}/{owner['name']}" if owner is not None else "",
    )


def _seconds(text: str) -> float:
    """Seconds since 1970 with the milliseconds that a record has."""
    return rfc3339.parse(text) / SECOND


def _cause(told: Obj) -> str:
    """Reason and message of a condition or a record, of which either may be missing."""
    return ": ".join(part for part in (told.get("reason"), told.get("message")) if part)


def of_finished(record: Obj, where: str) -> Row:
    """A Job that has ended, as the server remembers it (`plane/job_history.py`)."""
    failure = record.get("lastFailure", "")
    if not failure and record["result"] == "failed":
        failure = _cause(record)
    return Row(
        "job",
        record["job"],
        record["result"],
        _seconds(record.get("startTime") or record["endTime"]),
        _seconds(record["endTime"]),
        record.get("completions"),
        record["succeeded"],
        record["failed"],
        where,
        "",
        record["metadata"]["namespace"],
        "",
        record.get("retryOf", ""),
        failure,
        record.get("owner", ""),
        record["metadata"]["name"],
        record.get("podsRemoved", ""),
    )
