"""`longshore …` as a person types it: a process with a home of its own, perhaps on a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from support import forked_longshore, left_behind
from support.command_line import CommandLine

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@contextlib.contextmanager
def ignoring_ctrl_c() -> Iterator[None]:
    """What is started in here has SIGINT ignored, as what a script starts with `&`."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass
class Command(CommandLine):
    home: Path
    """Working directory, and where no longshore keeps its data unless the test starts one there."""
    env: dict[str, str] = field(default_factory=dict)
    name: ClassVar[str] = "longshore"

    def environment(self) -> dict[str, str]:
        passed = "PATH", "VIRTUAL_ENV", "TMPDIR", "LONGSHORE_SHORTCUTS", left_behind.VARIABLE
        kept = {name: os.environ[name] for name in passed if name in os.environ}
        mine = {"HOME": str(self.home), "LONGSHORE_HOME": str(self.home / "data"), "TZ": "UTC"}
        return {**kept, **mine, **self.env}

    def start(self, *words: str, **more: object) -> subprocess.Popen[str]:
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return forked_longshore.popen(words, cwd=self.home, env=self.environment(), **streams | more)

    @contextlib.contextmanager
    def up(self, *options: str) -> Iterator[None]:
        """A longshore that runs beside the block, and is stopped by `longshore down`."""
        server = self.start("up", "--port", "0", *options)
        try:
            assert server.stdout is not None
            assert "is ready" in server.stdout.readline()
            yield
            assert "has stopped" in self.ok("down")
            assert server.wait(10) == 0
        finally:
            server.kill()
            server.communicate()


@dataclass
class OnTerminal:
    """What was seen on the terminal, as it came."""

    exit: int
    raw: str

    @property
    def text(self) -> str:
        """Without colours and movements."""
        return _CONTROL.sub("", self.raw)

    @property
    def frames(self) -> list[str]:
        """Each drawing of the live part, without colours."""
        parts = re.split(r"(?:\x1b\[2K|\x1b\[1A)+", self.raw)
        return [_CONTROL.sub("", part) for part in parts]


def on_terminal(
    words: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    *,
    interrupt_when: Callable[[str], bool] | None = None,
    columns: int = 110,
) -> OnTerminal:
    """Runs longshore with a pseudo-terminal for all three streams; presses Ctrl-C once the text is so far."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(
            sys.executable, [sys.executable, "-m", "longshore", *words], {**env, "TERM": "xterm-256color"}
        )
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    out, until = b"", time.monotonic() + 60
    try:
        while time.monotonic() < until:
            readable, _, _ = select.select([fd], [], [], 0.2)
            if not readable:
                continue
            try:
                chunk = os.read(fd, 65536)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            out += chunk
            if interrupt_when is not None and interrupt_when(_CONTROL.sub("", out.decode(errors="replace"))):
                interrupt_when = None
                os.write(fd, b"\x03")
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"it did not end: {out.decode(errors='replace')[-2000:]}")
    finally:
        os.close(fd)
        _, status = os.waitpid(pid, 0)
    return OnTerminal(os.waitstatus_to_exitcode(status), out.decode(errors="replace"))
