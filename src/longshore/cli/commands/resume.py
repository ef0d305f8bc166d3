"""Resumes Jobs and CronJobs that were suspended.

longshore resume job/pi cronjob/nightly
"""

from __future__ import annotations

from argparse import Namespace

from longshore.cli.commands.suspend import INTERMIXED, add_arguments, switch

__all__ = ["INTERMIXED", "add_arguments", "run"]


def run(arguments: Namespace) -> int:
    return switch(arguments, suspend=False)
