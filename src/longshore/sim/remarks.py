"""Remarks about a result: warnings for a person, in sentences with numbers. Pure."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from longshore.api.types import Obj
from longshore.sim.checks import spoken
from longshore.sim.chronicle import Chronicle
from longshore.sim.sim_result import SimResult, most

_MAX_NAMES: Final = 3


def of(result: SimResult, nodes: Sequence[Obj], chronicle: Chronicle) -> list[str]:
    return [
        *_unplayed(chronicle),
        *_idle(result),
        *_skipped(result),
        *_never_started(result, nodes, chronicle),
        *_failed(result),
        *_unfinished(result),
        *_nodes(result),
        *_unsaid(result),
        *(f"{rule} never met a pod; misspelt?" for rule in chronicle.unmet),
    ]


def _unplayed(chronicle: Chronicle) -> Iterator[str]:
    for (version, kind), names in chronicle.unplayed.items():
        yield f"{kind} {_some(names)} ({version}) is skipped: longshore does not play this kind"


def _idle(result: SimResult) -> Iterator[str]:
    if not (result.jobs or result.cron_jobs or result.bars):
        yield "there is nothing to do: no pod, no Job that has not ended, no CronJob"


def _skipped(result: SimResult) -> Iterator[str]:
    for row in result.cron_jobs:
        reasons = Counter(_short(skip.why) for skip in row.skipped)
        for why, count in reasons.most_common(3):
            yield f"{_runs(count)} of {row.name} {_are(count)} skipped because {why}"
        if row.more_skipped:
            yield f"{row.more_skipped} more of its runs {_are(row.more_skipped)} skipped ({row.name})"
        if row.replaced:
            yield f"{_runs(row.replaced)} of {row.name} {_are(row.replaced)} ended by the next one (Replace)"
        if row.late:
            yield f"{_runs(row.late)} of {row.name} {_are(row.late)} late, by up to {spoken(row.latest)}"
        for what in row.clock_changes:
            yield f"{row.name} {what}"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _short(why: str) -> str:
    """Shortens a reason, so that all runs that were skipped for the same cause share one text."""
    return "the one before still runs (Forbid)" if why.endswith("is Forbid)") else why


def _never_started(result: SimResult, nodes: Sequence[Obj], chronicle: Chronicle) -> Iterator[str]:
    largest, whole = most(nodes, max), most(nodes, operator.add)
    for work in chronicle.works.values():
        if work.started is not None or work.ended is not None:
            continue
        said = work.waits
        requests = work.pods[0].requests if work.pods else {}
        too_large = [
            f"a pod asks for {_amount(name, wanted)} {name}, "
            f"the largest node has {_amount(name, largest.get(name, 0))}"
            for name, wanted in requests.items()
            if wanted > largest.get(name, 0)
        ]
        too_large += [
            f"it asks for {_amount(name, wanted)} {name} at once, "
            f"all nodes together have {_amount(name, whole.get(name, 0))}"
            for name, wanted in sorted(work.at_once().items())
            if wanted > whole.get(name, 0)
        ]
        if too_large:
            yield f"{work.reference} can never start: {too_large[0]}"
        else:
            yield f"{work.reference} has not started{': ' + said if said else ''}"


def _amount(name: str, value: int) -> str:
    if name == "cpu":
        return f"{value / 1000:g}"
    if name in ("memory", "ephemeral-storage") and value >= 2**30:
        return f"{value / 2**30:g}Gi"
    return str(value)


def _failed(result: SimResult) -> Iterator[str]:
    for row in result.jobs:
        if row.result == "failed" and not row.owner:
            yield f"{row.name} fails: {row.reason or 'see its pods'}"


def _unfinished(result: SimResult) -> Iterator[str]:
    left = [row for row in result.jobs if row.result == "running"]
    if left:
        verb = "does" if len(left) == 1 else "do"
        yield f"{_some([row.name for row in left])} {verb} not end within the time that was simulated"


def _nodes(result: SimResult) -> Iterator[str]:
    for row in result.node_failures[:_MAX_NAMES]:
        length = f"for {spoken(row.ended - row.at)}" if row.ended is not None else "and is not back"
        yield f"{row.node} fails at {result.clock(row.at):%d %b %H:%M:%S} {length}"
    if more := len(result.node_failures[_MAX_NAMES:]):
        yield f"nodes fail {'once' if more == 1 else f'{more} times'} more"


def _unsaid(result: SimResult) -> Iterator[str]:
    if result.unsaid:
        whose = _some(result.unsaid)
        yield f"pods of {whose} took the default of 60 s and success; --outcomes says how they go"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMES]) + (", …" if len(names) > _MAX_NAMES else "")
