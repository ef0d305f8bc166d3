"""Processes of a longshore that keeps nothing end with it, however it ends."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from support.living_processes import ends, unique_seconds
from support.longshore_command import Command


def _first_line(file: Path) -> str:
    until = time.monotonic() + 30
    while not (file.exists() and file.read_text().endswith("\n")):
        assert time.monotonic() < until, f"{file} was not written"
        time.sleep(0.02)
    return file.read_text().strip()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_a_run_that_is_ended_leaves_none(longshore: Command, number: int) -> None:
    seconds = unique_seconds()
    process = longshore.start("run", "--", "sh", "-c", f"echo begun > begun; exec sleep {seconds}")
    _first_line(longshore.home / "begun")
    process.send_signal(number)
    process.communicate(timeout=30)
    assert ends(f"sleep {seconds}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_an_up_in_memory_that_is_ended_leaves_none(longshore: Command, number: int) -> None:
    up = longshore.start("up", "--in-memory", "--port", "0")
    assert up.stdout is not None
    config = up.stdout.readline().rpartition("KUBECONFIG=")[2].strip()
    file, seconds = longshore.home / "begun", unique_seconds()
    script = f"echo begun > {file}; exec sleep {seconds}"
    container = {"name": "c", "image": "i", "command": ["sh", "-c", script]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    longshore.ok("apply", "-f", "-", "--kubeconfig", config, stdin=json.dumps(pod))
    _first_line(file)
    up.send_signal(number)
    up.communicate(timeout=30)
    assert ends(f"sleep {seconds}")
