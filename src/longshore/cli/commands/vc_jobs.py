"""Lists Volcano Jobs, or shows the one that `-n` names, as `vjobs` does.

longshore vc-jobs -q gpu
"""

from __future__ import annotations

from argparse import ArgumentParser

from longshore.cli.commands import job
from longshore.cli.volcano import vcctl


def _flags(parser: ArgumentParser) -> None:
    from longshore.cli.volcano import jobs

    jobs.list_flags(parser, swapped=True)
    parser.add_argument("--name", "-n", default="", metavar="NAME", help="show all about this job")


add_arguments, run = vcctl.alone(
    "job", _flags, lambda arguments: "view" if arguments.name else "list", job.verbs
)
