"""A longshore that is killed and started again, and what is left of it and of its pods on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from support.longshore_process import READY, RunningLongshore


class Up:
    """A `longshore up` that can be killed and started again on the same directory."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.options = options
        self.errors = directory.parent / "stderr"

    def start(self) -> None:
        command = [sys.executable, "-m", "longshore", "up", "--data-dir", str(self.directory)]
        command += [*self.options, "--port", "0"]  # not the same again: while it is dead, anybody may take it
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert self.process.stdout is not None
        ready = READY.fullmatch(self.process.stdout.readline())
        assert ready is not None, f"longshore did not start: {self.errors.read_text()[-2000:]}"
        self.client = RunningLongshore(ready[1], Path(ready[2]))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()


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
