"""The tests that docs/how-to/test-code.md shows pass as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support.places import ROOT

PAGE = ROOT / "docs" / "how-to" / "test-code.md"


def test_all_files_pass_under_pytest(tmp_path: Path) -> None:
    files = re.findall(r"```python\n# (test_\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(files) == 3
    for name, text in files:
        (tmp_path / name).write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *("-p", "no:cacheprovider", "-p", "longshore.pytest_plugin"),
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
