"""Reports on the last day: runs that failed, were skipped, started late or took long, with causes.

longshore report                              the last 24 hours, as text
longshore report --since 7d -o html > week.html    one page without scripts or links, for a mail
longshore report -o md

Runs of longshore run, with or without a longshore that keeps running, are in it. `usually` is the median of
the runs that completed, of the same CronJob or name.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from longshore.api.time import rfc3339
from longshore.cli.arguments import flags, waiting_times
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.cli.commands.history import Row
    from longshore.cli.reporting.day import Day, Skipped
    from longshore.cli.server.requests import Server

_MAX_RUNS_READ: Final = 50
"""Last words are read only for this number of failed runs, the newest."""
_FLAGS: Final = """
--since T             since=24h     from 90m, 24h or 7d before now (default: 24h)
--all-namespaces, -A  switch        in all namespaces
--output, -o          text|html|md=text  the form (default: text)
"""


def add_arguments(parser: ArgumentParser) -> None:
    flags.table(parser, _FLAGS, since=_since)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.reporting import forms

    write = {"text": forms.text, "html": forms.page, "md": forms.markdown}[arguments.output]
    sys.stdout.write(write(_day(arguments)))
    return 0


def _since(text: str) -> float:
    """Seconds from a duration, which may be in days."""
    if text.endswith("d") and text[:-1].isdecimal():
        text = f"{24 * int(text[:-1])}h"
    seconds = waiting_times.not_negative(text)
    if not seconds:
        raise ArgumentTypeError(f"{text!r} is no span of time: write 90m, 24h or 7d")
    return seconds


def _day(arguments: Namespace) -> Day:
    from longshore.cli.commands import history
    from longshore.cli.kept import run_records
    from longshore.cli.reporting import day
    from longshore.cli.running import place

    until = time.time()
    since = until - arguments.since
    rows = [row for record in run_records.every(run_records.root()) for row in history.of_record(record)]
    if place.running(arguments.kubeconfig, arguments.context) is None and not arguments.context:
        return day.of_rows(rows, since, until, {}, ())
    with connecting.opened(arguments) as server:
        rows += history.known(server, everywhere=arguments.all_namespaces)
        found = day.of_rows(rows, since, until, {}, ())
        skipped, refused = _skipped(server, since, everywhere=arguments.all_namespaces)
        words = _words(server, (found.rows[at] for at in found.failed()))
    return replace(found, words=words, skipped=skipped, refused=refused)


def _words(server: Server, failed: Iterable[Row]) -> dict[str, str]:
    """The last words of failed runs, by the name of their record."""
    import json

    found = {}
    for row in [row for row in failed if row.record][-_MAX_RUNS_READ:]:
        where = f"/apis/longshore.dev/v1/namespaces/{row.namespace}/finishedjobs/{row.record}"
        answer = server.request("GET", where)
        if answer.code == 200:
            found[row.record] = json.loads(answer.body).get("lastWords", "")
    return found


def _skipped(server: Server, since: float, *, everywhere: bool) -> tuple[list[Skipped], list[str]]:
    """The runs of CronJobs that did not happen, and what could not be read."""
    from longshore.api.errors import StatusError
    from longshore.cli.commands import why
    from longshore.cli.reporting import day
    from longshore.client.errors import Unreachable
    from longshore.why.kinds import KINDS

    where = "" if everywhere else f"/namespaces/{server.namespace}"
    found: list[Skipped] = []
    refused: list[str] = []
    for cronjob in server.json("GET", f"/apis/batch/v1{where}/cronjobs")["items"]:
        meta = cronjob["metadata"]
        server.namespace = meta["namespace"]
        try:
            story = why.document(server, KINDS["cronjob"], meta["name"])
        except (StatusError, Unreachable) as err:
            refused.append(f"the story of cronjob {meta['namespace']}/{meta['name']}: {err}")
            continue
        found += day.skipped_of(story, rfc3339.from_seconds(since))
    return sorted(found, key=lambda each: each.at), refused
