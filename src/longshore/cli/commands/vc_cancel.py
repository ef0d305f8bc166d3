"""Deletes a Volcano Job, as `vcancel` does.

longshore vc-cancel -n train
"""

from __future__ import annotations

from argparse import ArgumentParser

from longshore.cli.commands import job
from longshore.cli.volcano import vcctl


def _flags(parser: ArgumentParser) -> None:
    from longshore.cli.volcano import jobs

    jobs.one_flags(parser, swapped=True)


add_arguments, run = vcctl.alone("job", _flags, lambda _: "delete", job.verbs)
