"""The end of a container's run, as the pod's memory keeps it. Stops nothing; see `stopping.py`."""

from __future__ import annotations

import os
from typing import Final

from longshore.api.types import Obj
from longshore.machinery.reasons import Number, Reason
from longshore.node.pod.life import Life
from longshore.node.pod.memory import ContainerMemory
from longshore.node.runtime import FilePath
from longshore.node.status.containers import terminated

_MAX_MESSAGE_CHARACTERS: Final = 200
"""Characters of a container's last message that are kept with the reasons."""


def over(life: Life, record: ContainerMemory) -> None:
    """Records that the run is over, and ends its probes and its stop."""
    record.ended = end_of(life, record)
    if record.code:
        life.memory.news.append(_failure(life, record, record.ended))
    record.ready = record.started = False
    record.stopping = record.doom = None
    if record.probed:
        life.probing.pop(record.facts.name).stop()
        record.probed = False


def _failure(life: Life, record: ContainerMemory, ended: Obj) -> Reason:
    """The reason for a failed run, with its termination message or the last line of its log."""
    name, paths = record.facts.name, life.paths.get(record.facts.name)
    said, runtime_said = ended.get("message") or "", record.state.message if record.state is not None else ""
    if not said or said == runtime_said:
        said = last_line(paths.log) if paths is not None else ""
    numbers: dict[str, Number] = {
        "container": name,
        "exitCode": record.code,
        "run": record.attempt + 1,
        "reason": ended.get("reason") or "",
    }
    if record.stopping is not None:
        numbers["stopped"] = 1
    limit = ((record.facts.spec.get("resources") or {}).get("limits") or {}).get("memory")
    if numbers["reason"] == "OOMKilled":
        numbers["memory"] = runtime_said or (f"the limit is {limit}" if limit else "no limit is set")
    elif not said:
        said = runtime_said
    if said:
        numbers["message"] = said.strip()[:_MAX_MESSAGE_CHARACTERS]
    return Reason("ContainerFailed", numbers)


def end_of(life: Life, record: ContainerMemory) -> Obj:
    """`state.terminated` of a run that is over, with its termination message."""
    state, paths = record.state, life.paths.get(record.facts.name)
    assert state is not None
    said = ""
    if paths is not None and state.phase == "exited":
        said = termination_message(record.facts.spec, paths.termination, paths.log, state.exit_code)
    return terminated(state, life.runtime_name, said)


_MAX_TERMINATION_BYTES: Final = 4096
_LOG_BYTES, _LOG_LINES = 2048, 80
_TAIL_BYTES: Final = 16 * 1024
"""Bytes read at the end of the log file, whose lines have a time and a stream as well."""


def termination_message(spec: Obj, file: FilePath | None, log: FilePath | None, code: int) -> str:
    """The termination message, or "". `log` has lines `TIME STREAM F|P TEXT`."""
    said = b""
    if file is not None:
        try:
            opened = os.open(file, os.O_RDONLY)
        except OSError:
            pass  # as a rule: a container that writes nothing has no file
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
        return os.read(opened, _MAX_TERMINATION_BYTES)
    except OSError:
        return b""
    finally:
        os.close(opened)


def _tail(log: FilePath) -> bytes:
    try:
        with open(log, "rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(size - _TAIL_BYTES, 0))
            raw = opened.read()
    except OSError:
        return b""
    lines = raw.split(b"\n")
    if size > _TAIL_BYTES:
        lines = lines[1:]
    said = b""
    for line in lines:
        parts = line.split(b" ", 3)
        if len(parts) == 4 and parts[2] != b"R":
            said += parts[3] + (b"\n" if parts[2] == b"F" else b"")
    return b"\n".join(said.split(b"\n")[-_LOG_LINES - 1 :])[-_LOG_BYTES:]
