"""Suspends Jobs and CronJobs: until they are resumed, a Job stops its pods and a CronJob starts nothing.

longshore suspend job/pi cronjob/nightly
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

INTERMIXED = True


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.arguments import targets

    targets.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli import suspension

    return suspension.run(arguments, suspend=True)
