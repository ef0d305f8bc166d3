"""Python for a process of another user than the one who runs the tests."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.places import ROOT


def python_of_everybody() -> str:
    """A Python that can use the packages of this one, which may be where only root can read it."""
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info[1]}", "/usr/bin/python3"):
        check = [python, "-c", "import sys, asyncio, msgspec; assert sys.version_info >= (3, 11)"]
        path = {"PYTHONPATH": python_path(), "PYTHONDONTWRITEBYTECODE": "1"}
        with contextlib.suppress(OSError):
            if subprocess.run(check, user=12345, env=path, stderr=subprocess.DEVNULL).returncode == 0:
                return python
    pytest.skip("no Python here that another user can run")


def python_path() -> str:
    """The PYTHONPATH with which that Python finds longshore and `support`."""
    installed = (path for path in sys.path if path.endswith("-packages"))
    return ":".join([str(ROOT / "tests"), str(ROOT / "src"), *installed])


def answer_of(words: Sequence[str], module: str, level: str, directory: Path, **user: Any) -> Any:
    """What a module of `support` prints as JSON, run for a level of isolation by the Python of `words`."""
    done = subprocess.run(
        [*words, "-m", module, level, str(directory)],
        env={"PYTHONPATH": python_path(), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        cwd="/",
        **user,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
