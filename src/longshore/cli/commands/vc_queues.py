"""Lists queues, or shows the one that `-n` names, as `vqueues` does.

longshore vc-queues
"""

from __future__ import annotations

from argparse import ArgumentParser

from longshore.cli.commands import queue
from longshore.cli.volcano import vcctl


def _flags(parser: ArgumentParser) -> None:
    from longshore.cli.volcano import queues

    queues.one_flags(parser)


add_arguments, run = vcctl.alone(
    "queue", _flags, lambda arguments: "get" if arguments.name else "list", queue.verbs
)
