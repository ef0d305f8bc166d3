"""Runs again what a Job that has ended did not complete, as a new Job, and shows progress.

  longshore retry job/convert            the indexes that failed or never ran, each with its item and number
  longshore retry job/convert --all      everything

The new Job is called convert-retry-1. Each of the two names the other in an annotation:
longshore.dev/retry-of and longshore.dev/retried-by. Exit codes are those of longshore run.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore.cli.arguments import flags
from longshore.cli.server import connecting

INTERMIXED = True


_FLAGS = """
job JOB            word          the Job: job/NAME or NAME
--all              switch        run everything again, not only what failed
--follow           switch=on     show progress to the end
--logs             switch=unset  print the output of the processes
--keep-order, -k   switch        --logs in the order of the items
--tag              switch        --logs with the item and a tab before each line
--timeout T        seconds       stop after this time, with exit code 124
--output, -o json  |json         json: print the result as JSON
"""


def add_arguments(parser: ArgumentParser) -> None:
    flags.table(parser, _FLAGS)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.running import attaching, retrying
    from longshore.up.foreground import run_to_end

    return run_to_end(retrying.main(attaching.with_defaults_of_run(arguments)))
