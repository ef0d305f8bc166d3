"""The lines of `--each` in a file where the node finds them: in the data directory of the longshore.

The file stays as long as the Job may need it. With a throw-away longshore it is removed at the end.
Otherwise it stays in `items/` until the Job has succeeded.
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

from longshore.cli.main import Failure


def read(name: str) -> bytes:
    """All lines of the file, `-` for standard input. Raises Failure for an empty one."""
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as err:
        raise Failure(f"--each {name}: {err.strerror}", 2) from None
    if not content:
        raise Failure(f"--each {name}: the file is empty, so there is nothing to run", 2)
    if b"\0" in content:
        raise Failure(f"--each {name}: the file holds NUL bytes, so it is not text", 2)
    return content


def count(content: bytes) -> int:
    return content.count(b"\n") + (not content.endswith(b"\n"))


def keep(content: bytes, directory: Path | None) -> Path:
    """Writes the lines to a file that only its owner may read."""
    if directory is None:
        raise Failure("--each needs a longshore on this machine: it reads the lines from a file", 2)
    folder = directory / "items"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / secrets.token_hex(8)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    return path
