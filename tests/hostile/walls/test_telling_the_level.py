"""A longshore that cannot give the level that was wanted says so: an event, its status, and doctor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.longshore_command import Command

WITHOUT_RIGHT = ("setpriv", "--bounding-set=-sys_admin")
"""Root as in a container: it may make no namespaces."""
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="takes a right away from root"),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed (util-linux)"),
]


@contextmanager
def _up(longshore: Command, *before: str) -> Iterator[None]:
    with subprocess.Popen(
        [
            *before,
            sys.executable,
            "-m",
            "longshore",
            "up",
            "--port",
            "0",
            "--isolation",
            "full",
            "--on-stop=kill",
        ],
        cwd=longshore.home,
        env=longshore.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            assert "is ready" in server.stdout.readline()
            yield
        finally:
            server.terminate()


def _warnings(longshore: Command) -> list[str]:
    events = json.loads(longshore.ok("get", "events", "-o", "json"))["items"]
    return [event["message"] for event in events if event["reason"] == "WeakIsolation"]


def _first_warnings(longshore: Command) -> list[str]:
    """Events are written soon after the start, not before it is ready."""
    deadline = time.monotonic() + 20
    while not (found := _warnings(longshore)):
        assert time.monotonic() < deadline, "there is no event"
        time.sleep(0.1)
    return found


def test_a_level_that_cannot_be_had_is_warned_of_once_and_told_until_it_can(tmp_path: Path) -> None:
    longshore = Command(tmp_path)
    with _up(longshore, *WITHOUT_RIGHT):
        (warning,) = _first_warnings(longshore)
        assert warning.startswith("Pods are not kept to themselves (isolation none, not full): ")
        status = longshore.ok("status")
        assert "isolation none; more is not possible here: " in status
        assert "pods are not kept to themselves" in status
    with _up(longshore):
        status = longshore.ok("status")
        assert "isolation full\n" in status
        assert "pods are not kept to themselves" not in status
        assert len(_warnings(longshore)) == 1


def test_doctor_tries_it(tmp_path: Path) -> None:
    longshore = Command(tmp_path)
    words = [*WITHOUT_RIGHT, sys.executable, "-m", "longshore", "doctor", "-o", "json", "--port", "0"]
    done = subprocess.run(words, env=longshore.environment(), cwd=tmp_path, capture_output=True, text=True)
    (found,) = [each for each in json.loads(done.stdout) if each["what"] == "isolation"]
    assert found["state"] == "limited"
    assert "Operation not permitted" in found["text"]
