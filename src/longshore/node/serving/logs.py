"""Reads a container's log from its files: the requested lines, and with `follow` the lines to come.

Lines are as runtimes write them, `TIME stdout|stderr F|P TEXT`; `P` is a piece of a line that goes on. When a
file is full it becomes `.1`, what was `.1` becomes `.2`, and so on. A reader holds its file open, so it loses
nothing when the file is renamed or removed.

A file that follows another begins with a line `TIME stdout R BYTES`: how much was logged before it. If that
is more than a follower has read, it has missed files, and prints how many bytes were in them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from longshore.api.container_streams import LogOptions
from longshore.machinery.time.clock import Clock

_BLOCK_BYTES: Final = 1 << 17
_MAX_TRIES: Final = 5
_MARKER_BYTES: Final = 128
_MIN_PAUSE_SECONDS: Final = 0.02
_MAX_PAUSE_SECONDS: Final = 0.25
"""The longest pause between two reads while no lines come. While lines come, pauses are shorter."""
_OTHER_STREAM: Final = {"All": b"", "Stdout": b"stderr", "Stderr": b"stdout"}
"""The name of the stream whose lines are left out."""


async def read(
    path: Path, options: LogOptions, since: bytes, ended: asyncio.Event, clock: Clock
) -> AsyncGenerator[bytes, None]:
    """The text. `since` is the earliest timestamp shown; `ended` is set when nothing more will be written."""
    printer = _Printer(options, since)
    files = _open_all(path)
    try:
        start = _start_of_tail(files, options.tail_lines)
        for at, file in enumerate(files):
            if at < start[0]:
                continue
            file.seek(start[1] if at == start[0] else 0)
            while block := _whole_lines(file):
                if text := printer.text(block):
                    yield text
                if printer.full:
                    return
                await asyncio.sleep(0)
        if not options.follow:
            return
        async for block in _follow(path, files, ended, clock):
            if text := printer.text(block):
                yield text
            if printer.full:
                return
    finally:
        for file in files:
            file.close()


def _open_all(path: Path) -> list[BinaryIO]:
    """Every file of the log, oldest first. If a rotation meanwhile makes a file appear twice or not at all,
    it tries again, a few times."""
    for left in reversed(range(_MAX_TRIES)):
        files: list[BinaryIO] = []
        number = 0
        while True:
            name = f"{path}.{number}" if number else str(path)
            try:
                files.append(open(name, "rb"))  # noqa: SIM115 - closed by the caller
            except FileNotFoundError:
                if number:
                    break
            number += 1
        inodes = [os.fstat(file.fileno()).st_ino for file in files]
        is_whole = len(set(inodes)) == len(inodes) and _same(path, inodes[0] if files else 0, bool(files))
        if is_whole or not left:
            break
        for file in files:
            file.close()
    files.reverse()
    return files


def _same(path: Path, inode: int, expected: bool) -> bool:
    try:
        return os.stat(path).st_ino == inode
    except FileNotFoundError:
        return not expected or os.path.exists(f"{path}.1")


async def _follow(
    path: Path, files: list[BinaryIO], ended: asyncio.Event, clock: Clock
) -> AsyncGenerator[bytes, None]:
    """The lines after the end of `files`. New files are added; old ones are closed."""
    pause = _MIN_PAUSE_SECONDS
    file = files[-1] if files else None
    while True:
        over = ended.is_set()  # asked before reading, so that all lines up to the end are read
        found = False
        if file is not None:
            while block := _whole_lines(file):
                found = True
                yield block
        fresh = _next(path, file)
        if fresh is not None:
            if file is not None:
                while block := _whole_lines(file):  # written between our reading and its renaming
                    yield block
                if lost := _lost(file, fresh):
                    yield lost
                file.close()
            files[:] = [fresh]
            file, pause = fresh, _MIN_PAUSE_SECONDS
            continue
        if over:
            return
        pause = _MIN_PAUSE_SECONDS if found else min(pause * 1.5, _MAX_PAUSE_SECONDS)
        try:
            async with clock.timeout(pause):
                await ended.wait()
        except TimeoutError:
            pass


def _next(path: Path, file: BinaryIO | None) -> BinaryIO | None:
    """The file that comes after this one; None when this is the newest, or none is there."""
    reading = os.fstat(file.fileno()).st_ino if file is not None else -1
    newer: str | None = None
    number = 0
    while True:
        name = f"{path}.{number}" if number else str(path)
        try:
            if os.stat(name).st_ino == reading:
                break
            newer = name
        except FileNotFoundError:
            if number:
                break
        number += 1
    try:
        return open(newer, "rb") if newer is not None else None
    except FileNotFoundError:
        return None


def _lost(read: BinaryIO, fresh: BinaryIO) -> bytes:
    """The line that says how many bytes of the log lie between two files and are lost. The first file was
    read to its end. Empty if no bytes are lost, or the runtime does not count them."""
    stamp, before = _marker(fresh)
    missing = before - _marker(read)[1] - os.fstat(read.fileno()).st_size
    if before <= 0 or missing <= 0:
        return b""
    return b"%b stdout F longshore: %d bytes of this log are lost: they came faster than they were read\n" % (
        stamp,
        missing,
    )


def _marker(file: BinaryIO) -> tuple[bytes, int]:
    """The time in a file's first line, and the bytes that were logged before the file; 0 for a log's first
    file."""
    at = file.tell()
    file.seek(0)
    parts = file.read(_MARKER_BYTES).partition(b"\n")[0].split(b" ")
    file.seek(at)
    if len(parts) == 4 and parts[2] == b"R" and parts[3].isdigit():
        return parts[0], int(parts[3])
    return b"", 0


def _whole_lines(file: BinaryIO) -> bytes:
    """The next block of lines; an incomplete line is left for the next call."""
    at = file.tell()
    block = file.read(_BLOCK_BYTES)
    cut = block.rfind(b"\n") + 1
    if cut != len(block):
        file.seek(at + cut)
    return block[:cut]


def _start_of_tail(files: list[BinaryIO], lines: int | None) -> tuple[int, int]:
    """The file, and the place in it, where the last `lines` lines begin."""
    if lines is None:
        return 0, 0
    if lines == 0:
        if not files:
            return 0, 0
        files[-1].seek(0, os.SEEK_END)
        return len(files) - 1, files[-1].tell()
    for at in range(len(files) - 1, -1, -1):
        for start in _line_starts_from_end(files[at]):
            lines -= 1
            if lines == 0:
                return at, start
    return 0, 0


def _line_starts_from_end(file: BinaryIO) -> Iterator[int]:
    end = file.seek(0, os.SEEK_END)
    position, is_last = end, True
    while position > 0:
        size = min(_BLOCK_BYTES, position)
        position -= size
        file.seek(position)
        block = file.read(size)
        at = len(block)
        while (at := block.rfind(b"\n", 0, at)) >= 0:
            if not (is_last and position + at + 1 == end):
                yield position + at + 1
            is_last = False
    if end and not _marker(file)[0]:
        yield 0


class _Printer:
    """Turns stored lines into text, by the options of the request."""

    def __init__(self, options: LogOptions, since: bytes) -> None:
        self._since, self._timestamps = since, options.timestamps
        self._left = options.limit_bytes
        self._other = _OTHER_STREAM[options.stream]
        self._begins = True
        """Whether the next piece begins a line."""
        self.full = False

    def text(self, block: bytes) -> bytes:
        out: list[bytes] = []
        since, timestamps, other = self._since, self._timestamps, self._other
        for line in block.split(b"\n"):
            parts = line.split(b" ", 3)
            if len(parts) != 4 or parts[0] < since or parts[2] == b"R" or parts[1] == other:
                continue
            if timestamps and self._begins:
                out.append(parts[0].removesuffix(b"+00:00").removesuffix(b"Z") + b"Z ")
            out.append(parts[3])
            self._begins = parts[2] != b"P"
            if self._begins:
                out.append(b"\n")
        made = b"".join(out)
        if self._left is not None:
            made = made[: self._left]
            self._left -= len(made)
            self.full = self._left == 0
        return made
