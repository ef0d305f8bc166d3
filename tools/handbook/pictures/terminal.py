"""Records a real session: commands are typed into a shell, and a terminal in memory sees what it prints.

The shell lives in namespaces of its own, so that it has the home, the port and the machine name that any
reader would have, and nothing of this machine is changed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyte

READY = b"\x1b]2;ready\x07"
"""Stands before every prompt; no terminal shows it."""
SERVING = b"/kubeconfig\r\n"
"""The end of the ready line of `longshore up`."""
FRAME_SECONDS = 0.12
STEP_SECONDS = 60.0
ROOT = Path(__file__).resolve().parents[3]

_ENTER = """
set -e
mount -t tmpfs tmpfs /home
mkdir -p /home/you/longshore
mount --bind {root} /home/you/longshore
hostname harbour
{python} -c 'import fcntl, socket, struct
up = struct.pack("16sh14x", b"lo", 1)
fcntl.ioctl(socket.socket(), 0x8914, up)'
cd /home/you/longshore
export PS1='\\[\\e]2;ready\\a\\]$ '
exec bash --norc --noprofile --noediting +m -i
"""
"""Run in new namespaces: a home at /home/you, and a loopback interface with every port free."""


@dataclass(frozen=True)
class Cell:
    text: str
    colour: str = "default"
    bold: bool = False


Screen = tuple[tuple[Cell, ...], ...]


@dataclass
class Recording:
    columns: int
    frames: list[tuple[float, Screen]] = field(default_factory=list)
    """What was seen, and when, in seconds since the first command."""

    @property
    def last(self) -> Screen:
        return self.frames[-1][1]


def record(commands: Sequence[str], *, columns: int, rows: int, before: Sequence[str] = ()) -> Recording:
    """Types the commands one after the other, each when the one before has ended. `before` is not seen."""
    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    recording = Recording(columns)
    with _shell(columns, rows) as shell:
        _until(READY, shell, stream)
        for command in before:
            _type(shell, command, stream)
        screen.reset()
        stream.feed(b"$ ")
        began = time.monotonic()
        for command in commands:
            _type(shell, command, stream, lambda: _keep(recording, screen, began))
        _keep(recording, screen, began)
        os.write(shell, b"kill $(jobs -p); wait; exit\n")
        with contextlib.suppress(OSError):
            while os.read(shell, 65536):
                pass
    return recording


@contextlib.contextmanager
def _shell(columns: int, rows: int) -> Iterator[int]:
    pid, fd = pty.fork()
    if pid == 0:
        script = _ENTER.format(root=ROOT, python=sys.executable)
        env = {
            "HOME": "/home/you",
            "PATH": f"/home/you/longshore/.venv/bin:/home/you/longshore/.tools:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TZ": "Europe/Berlin",
            "USER": "you",
        }
        unshare = ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--mount-proc"]
        as_root = unshare if os.geteuid() == 0 else [*unshare, "--map-root-user"]
        os.execvpe("unshare", [*as_root, "bash", "-c", script], env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        yield fd
    finally:
        os.close(fd)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _type(shell: int, command: str, stream: pyte.ByteStream, seen: Callable[[], None] | None = None) -> None:
    """Types a command and waits for the next prompt; after `longshore up &` for its ready line first."""
    os.write(shell, command.encode() + b"\n")
    rest = _until(READY, shell, stream, seen)
    if command.endswith("&"):
        _until(SERVING, shell, stream, seen)
        rest = b"$ "
    stream.feed(rest or b"$ ")


def _until(mark: bytes, shell: int, stream: pyte.ByteStream, seen: Callable[[], None] | None = None) -> bytes:
    """Shows what comes up to the mark, and returns what comes right after it."""
    said, shown, end, drawn = b"", 0, time.monotonic() + STEP_SECONDS, 0.0
    while mark not in said:
        if time.monotonic() > end:
            raise TimeoutError(said.decode(errors="replace"))
        if select.select([shell], [], [], 0.05)[0]:
            said += os.read(shell, 65536)
            stream.feed(said[shown:].partition(READY)[0])
            shown = len(said)
        if seen is not None and time.monotonic() - drawn > FRAME_SECONDS:
            drawn = time.monotonic()
            seen()
    rest = said.partition(mark)[2]
    while select.select([shell], [], [], 0.1)[0]:
        rest += os.read(shell, 65536)
    return rest


def _keep(recording: Recording, screen: pyte.Screen, began: float) -> None:
    picture = tuple(_row(screen, y) for y in range(screen.lines))
    if not recording.frames or recording.frames[-1][1] != picture:
        recording.frames.append((time.monotonic() - began, picture))


def _row(screen: pyte.Screen, y: int) -> tuple[Cell, ...]:
    """One line as runs of characters that look alike, without the blank end."""
    line = screen.buffer[y]
    runs: list[Cell] = []
    for x in range(screen.columns):
        char = line[x]
        colour = char.bg if char.reverse else char.fg
        cell = Cell(char.data, colour, char.bold)
        if runs and (runs[-1].colour, runs[-1].bold) == (cell.colour, cell.bold):
            runs[-1] = Cell(runs[-1].text + cell.text, cell.colour, cell.bold)
        else:
            runs.append(cell)
    while runs and not runs[-1].text.strip():
        runs.pop()
    if runs:
        runs[-1] = Cell(runs[-1].text.rstrip(), runs[-1].colour, runs[-1].bold)
    return tuple(runs)
