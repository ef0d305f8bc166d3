"""Processes of this machine by their words: a pod behind walls knows its number only within them."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_numbers = itertools.count()


def unique_seconds() -> str:
    """A long time to sleep, which no other process of this machine sleeps."""
    return f"1000.{os.getpid()}{next(_numbers):03}"


def living(*words: str) -> list[int]:
    """The numbers of the processes with all these words in their command line."""
    return [
        pid
        for pid, line in _processes("cmdline")
        if all(os.fsencode(each) in line.replace(b"\0", b" ") for each in words)
    ]


def ends(words: str, seconds: float = 10.0) -> bool:
    """Whether no such process is left, after a while at most."""
    until = time.monotonic() + seconds
    while living(words):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def keepers(data: Path) -> list[int]:
    """The keeper of a data directory, and its fork server, which goes with it."""
    return living("longshore.node.keeper", str(data))


def end_keeper(data: Path) -> bool:
    """Kills the keeper of a data directory, which outlives longshore by design; whether there was one."""
    found = keepers(data)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def containers(uids: set[str]) -> list[int]:
    """The processes that belong to one of these pods."""
    mark = b"LONGSHORE_CONTAINER="
    return [pid for pid, env in _processes("environ") if env.partition(mark)[2][:36].decode() in uids]


def _processes(file: str) -> Iterator[tuple[int, bytes]]:
    for path in Path("/proc").glob(f"[0-9]*/{file}"):
        with contextlib.suppress(OSError):  # it has just ended
            yield int(path.parent.name), path.read_bytes()
