"""A container's output on disk: one line per line, in the format of CRI, rotated as kubelets do.

    2026-11-16T00:47:22.123456789Z stdout F the text

`P` instead of `F` marks a part of a line: it was longer than 16 KiB, or the last one had no line end. The
file and its directory are made at the first output. On a full disk lines are lost, but the container
continues. As soon as there is room, a line says how many lines are lost. In a log that ends on a full disk,
this line replaces some of the last lines.

Five files of 10 MiB are kept, as kubelets keep them. From the second on, each begins with a line of the kind
`R`, whose text is the number of bytes logged in the files before it: a reader that is too slow learns from it
how much it missed. A log that is wanted whole is one file of any size; two writers may then share it, one for
each stream.
"""

from __future__ import annotations

import os
import time

_MAX_LINE_BYTES = 16 * 1024  # upstream's limit for one line of a log
_MAX_FILE_BYTES = 10 << 20  # kubelet's containerLogMaxSize
_MAX_TAIL_BYTES = 64 << 10  # bytes at a log's end whose lines may be replaced by the line about lost lines
_MAX_FILES = 5  # kubelet's containerLogMaxFiles, the current one included


class _Clock:
    """RFC 3339 with nanoseconds; the part that changes once a second is kept."""

    def __init__(self) -> None:
        self._second = -1
        self._text = b""

    def stamp(self) -> bytes:
        second, nanos = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._second = second
            self._text = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second)).encode()
        return self._text + b"%09dZ" % nanos


_clock = _Clock()


class LogFile:
    __slots__ = (
        "_before",
        "_fd",
        "_full",
        "_lost",
        "_part",
        "_rest",
        "_size",
        "_torn",
        "_why",
        "path",
        "whole",
    )

    def __init__(self, path: str, *, whole: bool = False, stream: bytes = b"stdout") -> None:
        self.path = path
        self._full, self._part = b" %b F " % stream, b" %b P " % stream
        self.whole = whole
        """True for a log that is never rotated, because all of it is wanted."""
        self._fd = -1
        self._size = 0
        self._before = 0
        """Bytes logged in the files before this one."""
        self._rest = b""
        self._lost = 0
        """The number of lines that could not be written since the last one that could."""
        self._why = b""
        """The error of the last line that could not be written."""
        self._torn = False
        """Whether the file ends in the middle of a line."""

    def feed(self, data: bytes) -> None:
        """Logs output, in pieces of any size."""
        if self._rest:
            data = self._rest + data
        lines = data.split(b"\n")
        rest = lines.pop()
        stamp = _clock.stamp()
        full = stamp + self._full
        if len(data) <= _MAX_LINE_BYTES:
            self._rest = rest
            if lines:
                self._write(full + (b"\n" + full).join(lines) + b"\n")
            return
        part = stamp + self._part
        out: list[bytes] = []
        for text in lines:
            while len(text) > _MAX_LINE_BYTES:
                out += (part, text[:_MAX_LINE_BYTES], b"\n")
                text = text[_MAX_LINE_BYTES:]
            out += (full, text, b"\n")
        while len(rest) >= _MAX_LINE_BYTES:
            out += (part, rest[:_MAX_LINE_BYTES], b"\n")
            rest = rest[_MAX_LINE_BYTES:]
        self._rest = rest
        self._write(b"".join(out))

    def close(self) -> None:
        """Ends the log; a last line without a line end is written as a part."""
        if self._rest:
            self._write(_clock.stamp() + self._part + self._rest + b"\n")
            self._rest = b""
        if self._lost:
            self._write(b"")
        if self._lost:
            self._mark_in_place()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, data: bytes) -> None:
        whole = left = self._mark(self._lost) + data if self._lost else data
        try:
            if self._fd < 0:
                self._open()
            while left:
                written = os.write(self._fd, left)
                self._size += written
                left = left[written:]
        except OSError as problem:  # no space, or the directory cannot be made: the container goes on
            self._lose(whole, left, len(data), problem)
            return
        self._lost, self._torn = 0, False
        if self._size >= _MAX_FILE_BYTES and not self.whole:
            self._rotate()

    def _lose(self, whole: bytes, left: bytes, given: int, problem: OSError) -> None:
        """Counts the lines of `left`, the part of `whole` that was not written. The last `given` bytes of
        `whole` are new output; those before them are the line about earlier losses."""
        self._why = os.strerror(problem.errno or 0).lower().encode()
        if len(left) < len(whole):
            self._torn = whole[-len(left) - 1 : -len(left)] != b"\n"
        if len(left) <= given:  # the line about earlier losses is written
            self._lost = left.count(b"\n")
        else:
            self._lost += left[len(left) - given :].count(b"\n")

    def _mark(self, lost: int) -> bytes:
        """The line that says how many lines are lost."""
        text = b"longshore: lines of this log are lost: %d (%b)\n" % (lost, self._why)
        return b"\n" * self._torn + _clock.stamp() + self._full + text

    def _mark_in_place(self) -> None:
        """Writes the mark over the last lines: there is no room for more, and no output to come."""
        try:
            with open(self.path, "r+b", buffering=0) as file:
                start = max(0, file.seek(0, os.SEEK_END) - _MAX_TAIL_BYTES)
                file.seek(start)
                tail = file.read()
                self._torn = False
                room = len(self._mark(self._lost + tail.count(b"\n") + 1))
                cut = tail.rfind(b"\n", 0, max(0, len(tail) - room)) + 1
                if len(tail) - cut >= room and (cut or not start):
                    file.seek(start + cut)
                    file.write(self._mark(self._lost + len(tail[cut:].splitlines())))
                    file.truncate()
        except OSError:
            return  # the file cannot be opened

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._fd = os.open(self.path, flags, 0o640)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self.path), mode=0o750, exist_ok=True)
            self._fd = os.open(self.path, flags, 0o640)
        self._size = os.fstat(self._fd).st_size
        if not self._size and self._before:
            self._size = os.write(self._fd, b"%b stdout R %d\n" % (_clock.stamp(), self._before))
        elif self._size and not self._before:
            self._before = _logged_before(self.path)

    def _rotate(self) -> None:
        os.close(self._fd)
        self._fd = -1
        self._before += self._size
        try:
            for number in range(_MAX_FILES - 1, 0, -1):
                older = f"{self.path}.{number - 1}" if number > 1 else self.path
                if os.path.exists(older):
                    os.rename(older, f"{self.path}.{number}")
        except OSError:
            return  # the file grows beyond its size, and is rotated with the next line


def _logged_before(path: str) -> int:
    """Bytes in the files before this one, as its first line says, if another keeper began it."""
    try:
        with open(path, "rb") as file:
            parts = file.read(128).partition(b"\n")[0].split(b" ")
    except OSError:
        return 0
    return int(parts[3]) if len(parts) == 4 and parts[2] == b"R" and parts[3].isdigit() else 0
