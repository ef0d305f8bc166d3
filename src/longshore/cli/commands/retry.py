"""Runs again what a Job that has ended did not complete, as a new Job, and shows progress.

  longshore retry job/convert            the indexes that failed or never ran, each with its item and number
  longshore retry job/convert --all      everything

The new Job is called convert-retry-1. Each of the two names the other in an annotation:
longshore.dev/retry-of and longshore.dev/retried-by. Exit codes are those of longshore run.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore.cli.arguments.flags import switch

INTERMIXED = True


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.arguments import waiting_times
    from longshore.cli.server import connecting

    add = parser.add_argument
    add("job", metavar="JOB", help="the Job: job/NAME or NAME")
    switch(parser, "--all", help="run everything again, not only what failed")
    switch(parser, "--follow", help="show progress to the end", default=True)
    switch(parser, "--logs", help="print the output of the processes", default=None)
    switch(parser, "--keep-order", "-k", help="--logs in the order of the items")
    switch(parser, "--tag", help="--logs with the item and a tab before each line")
    add("--timeout", type=waiting_times.seconds, metavar="T", help="stop after this time, with exit code 124")
    add(
        "--output",
        "-o",
        default="",
        choices=("", "json"),
        metavar="json",
        help="json: print the result as JSON",
    )
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    import asyncio

    from longshore.cli.running import attaching, retrying
    from longshore.up.foreground import event_loop

    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(retrying.main(attaching.with_defaults_of_run(arguments)))
