"""Processes of this machine by their words: a pod behind walls knows its number only within them."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

_numbers = itertools.count()


def unique_seconds() -> str:
    """A long time to sleep, which no other process of this machine sleeps."""
    return f"1000.{os.getpid()}{next(_numbers):03}"


def living(words: str) -> list[int]:
    """The numbers of the processes with these words in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.encode() in path.read_bytes().replace(b"\0", b" "):
                found.append(int(path.parent.name))
        except OSError:  # it has just ended
            continue
    return found


def ends(words: str, seconds: float = 10.0) -> bool:
    """Whether no such process is left, after a while at most."""
    until = time.monotonic() + seconds
    while living(words):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
