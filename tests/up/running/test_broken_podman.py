"""`longshore up --runtime podman` where podman does not work: it starts and says why pods wait."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LONGSHORE = (sys.executable, "-m", "longshore")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("echo 'Error: cannot open its storage' >&2; exit 125", "podman does not work here"),
        ("", "there is no podman here; install it"),
    ],
    ids=["broken", "missing"],
)
def test_the_node_is_not_ready_and_says_why(tmp_path: Path, program: str, why: str) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    if program:
        (programs / "podman").write_text(f"#!/bin/sh\n{program}\n")
        (programs / "podman").chmod(0o755)
    for name in ("sh", "cat"):
        (programs / name).symlink_to(f"/bin/{name}")
    words = ["--data-dir", str(tmp_path / "data")]
    with (tmp_path / "said").open("w") as said:
        up = subprocess.Popen(
            [*LONGSHORE, "up", *words, "--port", "0", "--runtime", "podman"],
            env={**os.environ, "PATH": str(programs)},
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
    assert up.stdout is not None
    try:
        assert "is ready at" in up.stdout.readline()
        status = subprocess.run([*LONGSHORE, "status", *words], capture_output=True, text=True, check=True)
    finally:
        up.terminate()
        up.communicate(timeout=60)
    assert ": not ready, podman://" in status.stdout
    assert f"container runtime is down: {why}" in status.stdout
    told = (tmp_path / "said").read_text()
    assert f"container runtime is down: {why}" in told
    assert "Traceback" not in told
