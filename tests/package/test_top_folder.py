"""The top folder of the repository: what people open first."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
KNOWN = {".md", ".toml", ".lock", ".yaml"}
WITHOUT_SUFFIX = {".gitignore", "LICENSE", "Makefile"}


def test_no_command_has_left_its_output_among_the_files() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    top = [Path(name) for name in listed.stdout.split("\0") if name and "/" not in name]
    assert [each.name for each in top if each.suffix not in KNOWN and each.name not in WITHOUT_SUFFIX] == []
