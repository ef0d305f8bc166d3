"""The programs `vsub`, `vjobs`, `vqueues`, `vcancel`, `vsuspend` and `vresume`: commands of longshore by
Volcano's names for people who come from Slurm."""

from __future__ import annotations

import sys

from longshore.cli.main import main


def vsub() -> int:
    return _run("vc-sub")


def vjobs() -> int:
    return _run("vc-jobs")


def vqueues() -> int:
    return _run("vc-queues")


def vcancel() -> int:
    return _run("vc-cancel")


def vsuspend() -> int:
    return _run("vc-suspend")


def vresume() -> int:
    return _run("vc-resume")


def _run(command: str) -> int:
    return main([command, *sys.argv[1:]])
