"""Resumes Jobs and CronJobs that were suspended.

longshore resume job/pi cronjob/nightly
longshore resume nightly                     the Job or CronJob of this name
longshore resume --follow job/pi             shows its progress to the end, as longshore run does
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from longshore.cli.arguments.flags import switch
from longshore.cli.commands import suspend
from longshore.cli.server import connecting

INTERMIXED = True


def add_arguments(parser: ArgumentParser) -> None:
    suspend.add_arguments(parser)
    switch(
        parser, "--follow", help="show the progress of the Jobs to their end; Ctrl-C leaves them as they are"
    )


def run(arguments: Namespace) -> int:
    seen = suspend.switch(arguments, suspend=False)
    jobs = [("job", namespace, name) for kind, namespace, name in seen if kind == "Job"]
    if not arguments.follow or not jobs:
        return 0
    from longshore.cli.running import attaching
    from longshore.up.foreground import run_to_end

    whole = attaching.with_defaults_of_run(arguments)
    return run_to_end(attaching.follow(whole, connecting.file(arguments.kubeconfig), jobs))
