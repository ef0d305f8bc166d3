"""The programs `vsub`, `vjobs`, `vqueues`, `vcancel`, `vsuspend` and `vresume`: commands of longshore by
Volcano's names for users of Slurm."""

from __future__ import annotations

import sys
from functools import partial

from longshore.cli.main import main


def _run(command: str) -> int:
    return main([command, *sys.argv[1:]])


vsub, vjobs, vqueues = partial(_run, "vc-sub"), partial(_run, "vc-jobs"), partial(_run, "vc-queues")
vcancel, vsuspend, vresume = (
    partial(_run, "vc-cancel"),
    partial(_run, "vc-suspend"),
    partial(_run, "vc-resume"),
)
