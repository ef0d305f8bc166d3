"""Lists runs, the newest first: throw-away runs of longshore run, and Jobs of the longshore that runs here.

longshore history                    the last 30
longshore history convert            those of this name, and its retries
longshore logs NAME                  the output of one; longshore retry NAME runs again what failed

A throw-away run leaves its record and its logs in the data directory for 7 days. A longshore that keeps
running remembers Jobs that have ended for 30 days, also after their deletion.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from longshore.cli.arguments.flags import switch

if TYPE_CHECKING:
    from longshore.cli.kept.history_rows import Row

INTERMIXED = True
_SHOWN_ROWS = 30


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import connecting

    add = parser.add_argument
    add("name", nargs="?", default="", metavar="NAME", help="only runs of this name, and their retries")
    add("--last", type=int, default=_SHOWN_ROWS, metavar="N", help=f"at most N (default: {_SHOWN_ROWS})")
    switch(parser, "--all-namespaces", "-A", help="in all namespaces")
    add(
        "--output",
        "-o",
        default="",
        choices=("", "json", "wide"),
        metavar="json|wide",
        help="json, or wide: with the commands",
    )
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.kept import history_rows, run_records

    rows = [row for record in run_records.every(run_records.root()) for row in history_rows.of_record(record)]
    rows += _served(arguments)
    name = arguments.name.rpartition("/")[2]
    chosen = [row for row in rows if not name or row.name == name or row.name.startswith(f"{name}-retry-")]
    chosen = sorted(chosen, key=history_rows.order, reverse=True)[: max(0, arguments.last)]
    if arguments.output == "json":
        from longshore.cli.printing import objects

        sys.stdout.write(objects.as_json({"items": [row.document() for row in chosen]}))
        return 0
    if not chosen:
        print("no runs are known", file=sys.stderr)
        return 0
    sys.stdout.write(_table(chosen, wide=arguments.output == "wide"))
    return 0


def _served(arguments: Namespace) -> list[Row]:
    """Jobs of the longshore that runs here, or of the server that the arguments name."""
    import json
    from contextlib import closing

    from longshore.cli.kept import history_rows
    from longshore.cli.running import place
    from longshore.cli.server import connecting, refusals

    if place.running(arguments.kubeconfig, arguments.context) is None and not arguments.context:
        return []
    with refusals.told(), closing(connecting.server(arguments)) as server:
        where = "" if arguments.all_namespaces else f"/namespaces/{server.namespace}"
        jobs = server.json("GET", f"/apis/batch/v1{where}/jobs")["items"]
        answer = server.request("GET", f"/apis/longshore.dev/v1{where}/finishedjobs")
        known = json.loads(answer.body)["items"] if answer.code == 200 else []  # another server has none
        records = {record["metadata"]["uid"]: record for record in known}
        rows = [history_rows.of_job(job, records.pop(job["metadata"]["uid"], {})) for job in jobs]
        return rows + [history_rows.of_gone(record) for record in records.values()]


def _table(rows: list[Row], *, wide: bool) -> str:
    import time

    from longshore.cli.printing.columns import Columns
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
