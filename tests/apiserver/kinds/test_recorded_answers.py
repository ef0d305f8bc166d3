"""Kubernetes' recorded answers to writes and reviews: a longshore gives the same."""

from __future__ import annotations

import subprocess
import sys

from support.longshore_process import longshore_up
from support.places import RECORDED

VECTORS = RECORDED / "vectors"


def test_requests_are_answered_as_recorded() -> None:
    with longshore_up("--controllers", "none", "--no-node", "--no-scheduler") as longshore:
        command = [sys.executable, VECTORS / "replay.py", "--kubeconfig", longshore.kubeconfig]
        command += ["--check", VECTORS / "api", "--only", "[!elw]*"]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "validation-pod: " in done.stdout
