"""The examples of tests in `examples/testing` pass as a person runs them.

Those with packages that are too heavy for this suite have folders of their own: `make test-examples`.
"""

from __future__ import annotations

import os
import subprocess
import sys

from support.places import ROOT

PLUGINS = ("-p", "longshore.pytest_plugin", "-p", "anyio.pytest_plugin", "-p", "no:cacheprovider")


def test_every_example_passes() -> None:
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    folder = ROOT / "examples" / "testing"
    words = [sys.executable, "-m", "pytest", "-q", *PLUGINS, f"--ignore-glob={folder}/with_*", str(folder)]
    done = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
