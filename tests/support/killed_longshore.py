"""The processes of a longshore that was killed, and of its pods, on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path


def end_keeper(data: Path) -> bool:
    """Kills the keeper of a data directory, which outlives longshore by design; whether there was one."""
    found = keepers(data)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def keepers(data: Path) -> list[int]:
    """The keeper of a data directory, and its fork server, which goes with it."""
    return [pid for pid, words in _processes() if _is_keeper(words, data)]


def _is_keeper(words: bytes, data: Path) -> bool:
    return b"longshore.node.keeper" in words and os.fsencode(data) in words


def _processes() -> Iterator[tuple[int, bytes]]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry), Path(f"/proc/{entry}/cmdline").read_bytes()


def containers(uids: set[str]) -> list[int]:
    """Processes of this machine that belong to one of these pods."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                environ = Path(f"/proc/{entry}/environ").read_bytes()
                at = environ.find(b"LONGSHORE_CONTAINER=")
                if at >= 0 and environ[at + 20 : at + 56].decode() in uids:
                    found.append(int(entry))
    return found
