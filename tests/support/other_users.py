"""Python for a process of another user than the one who runs the tests."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest

from support.places import ROOT


def python_of_everybody() -> str:
    """This one may be installed where only root can read it."""
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info[1]}", "/usr/bin/python3"):
        check = [python, "-c", "import sys, asyncio; assert sys.version_info >= (3, 11)"]
        with contextlib.suppress(OSError):
            if subprocess.run(check, user=12345, stderr=subprocess.DEVNULL).returncode == 0:
                return python
    pytest.skip("no Python here that another user can run")


def python_path() -> str:
    """The PYTHONPATH with which that Python finds longshore and `support`."""
    installed = (path for path in sys.path if path.endswith("-packages"))
    return ":".join([str(ROOT / "tests"), str(ROOT / "src"), *installed])
