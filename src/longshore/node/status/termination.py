"""A container's last words: what it wrote to its termination message file, or the end of its log."""

from __future__ import annotations

import os
from typing import Final

from longshore.api.types import Obj
from longshore.node.runtime import FilePath

_MAX_MESSAGE_BYTES: Final = 4096
_LOG_BYTES, _LOG_LINES = 2048, 80
_TAIL: Final = 16 * 1024
"""Bytes of the log file looked at: every line in it carries a time and a stream as well."""


def message(spec: Obj, file: FilePath | None, log: FilePath | None, code: int) -> str:
    """Empty when it said nothing. `log` has lines `TIME STREAM F|P TEXT`."""
    said = b""
    if file is not None:
        try:
            opened = os.open(file, os.O_RDONLY)
        except OSError:
            pass  # as a rule: who writes nothing has no file
        else:
            said = _read(opened)
    if (
        not said
        and code
        and log is not None
        and spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
    ):
        said = _tail(log)
    return said.decode("utf-8", "replace")


def last_line(log: FilePath | None) -> str:
    """The last line of a log that is not blank; empty without one."""
    said = _tail(log).decode("utf-8", "replace").split("\n") if log is not None else ()
    return next((line.strip() for line in reversed(said) if line.strip()), "")


def _read(opened: int) -> bytes:
    try:
        return os.read(opened, _MAX_MESSAGE_BYTES)
    except OSError:
        return b""
    finally:
        os.close(opened)


def _tail(log: FilePath) -> bytes:
    try:
        with open(log, "rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(size - _TAIL, 0))
            raw = opened.read()
    except OSError:
        return b""
    lines = raw.split(b"\n")
    if size > _TAIL:
        lines = lines[1:]
    said = b""
    for line in lines:
        parts = line.split(b" ", 3)
        if len(parts) == 4 and parts[2] != b"R":
            said += parts[3] + (b"\n" if parts[2] == b"F" else b"")
    return b"\n".join(said.split(b"\n")[-_LOG_LINES - 1 :])[-_LOG_BYTES:]
