"""Resumes Jobs and CronJobs that were suspended.

longshore resume job/pi cronjob/nightly
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

INTERMIXED = True


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.arguments import targets

    targets.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli import suspension

    return suspension.run(arguments, suspend=False)
