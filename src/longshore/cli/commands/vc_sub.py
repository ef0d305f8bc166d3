"""Submits a Volcano Job, as `vsub` does: `longshore job run` with `-n` for the name.

longshore vc-sub -n train -i trainer:1 -r 4 -m 4
"""

from __future__ import annotations

from argparse import ArgumentParser

from longshore.cli.commands import job
from longshore.cli.volcano import vcctl


def _flags(parser: ArgumentParser) -> None:
    from longshore.cli.volcano import jobs

    jobs.run_flags(parser, swapped=True)


add_arguments, run = vcctl.alone("job", _flags, lambda _: "run", job.verbs)
