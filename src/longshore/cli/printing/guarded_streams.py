"""Standard output and error on a terminal, with all control characters written out (`api/terminal.py`).

Text of objects and of containers' logs may hold sequences that a terminal obeys. Everything that a command
prints to a terminal passes here, so no command can forget it; a command that hands the terminal to a
container, or draws on it, asks for the stream itself. Output to a file or a pipe is not changed.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from longshore.api.terminal import harmless

if TYPE_CHECKING:
    from typing import BinaryIO, TextIO


class _Bytes:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: bytes) -> int:
        self._stream.write(harmless(self._decoder.decode(data)).encode())
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Text:
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.buffer = _Bytes(stream.buffer)

    def write(self, text: str) -> int:
        self.stream.write(harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard() -> None:
    """Guards the streams that are terminals, for the rest of the process."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream.isatty() and not isinstance(stream, _Text):
            setattr(sys, name, _Text(stream))


def unguarded(stream: TextIO) -> TextIO:
    """The stream without its guard."""
    return cast("TextIO", stream.stream) if isinstance(stream, _Text) else stream


def release_output() -> None:
    """Removes the guard of standard output, for `logs --raw` and the user's own commands."""
    sys.stdout = unguarded(sys.stdout)
