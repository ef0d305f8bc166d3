"""The end of a container's run, as the pod's memory keeps it. Stops nothing; see `stopping.py`."""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.machinery.reasons import Number, Reason
from longshore.node.pod.life import Life
from longshore.node.pod.memory import Record
from longshore.node.status import termination
from longshore.node.status.containers import terminated

_MAX_MESSAGE_CHARACTERS: Final = 200
"""Of a container's last words that are kept with the reasons."""


def over(life: Life, record: Record) -> None:
    """Writes down that the run is over: nothing waits for it, probes it or stops it any more."""
    record.ended = end_of(life, record)
    if record.code:
        life.memory.news.append(_failure(life, record, record.ended))
    record.ready = record.started = False
    record.stopping = record.doom = None
    if record.probed:
        life.probing.pop(record.facts.name).stop()
        record.probed = False


def _failure(life: Life, record: Record, ended: Obj) -> Reason:
    """The reason of a run that ended badly, with its last words: the message it left, or its last line."""
    name, paths = record.facts.name, life.paths.get(record.facts.name)
    said = ended.get("message") or (termination.last_line(paths.log) if paths is not None else "")
    numbers: dict[str, Number] = {
        "container": name,
        "exitCode": record.code,
        "run": record.attempt + 1,
        "reason": ended.get("reason") or "",
    }
    if record.stopping is not None:
        numbers["stopped"] = 1
    if said:
        numbers["message"] = said.strip()[:_MAX_MESSAGE_CHARACTERS]
    return Reason("ContainerFailed", f"{name} ended with exit code {record.code}", numbers)


def end_of(life: Life, record: Record) -> Obj:
    """`state.terminated` of a run that is over, with its last words."""
    state, paths = record.state, life.paths.get(record.facts.name)
    assert state is not None
    said = ""
    if paths is not None and state.phase == "exited":
        said = termination.message(record.facts.spec, paths.termination, paths.log, state.exit_code)
    return terminated(state, life.engine, said)
