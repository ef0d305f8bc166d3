"""The end of a container's run, as the pod's memory keeps it. Stops nothing; see `stopping.py`."""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.node.pod.life import Life
from longshore.node.pod.memory import Record
from longshore.node.status import termination
from longshore.node.status.containers import terminated


def over(life: Life, record: Record) -> None:
    """Writes down that the run is over: nothing waits for it, probes it or stops it any more."""
    record.ended = end_of(life, record)
    record.ready = record.started = False
    record.stopping = record.doom = None
    if record.probed:
        life.probing.pop(record.facts.name).stop()
        record.probed = False


def end_of(life: Life, record: Record) -> Obj:
    """`state.terminated` of a run that is over, with its last words."""
    state, paths = record.state, life.paths.get(record.facts.name)
    assert state is not None
    said = ""
    if paths is not None and state.phase == "exited":
        said = termination.message(record.facts.spec, paths.termination, paths.log, state.exit_code)
    return terminated(state, life.engine, said)
