"""Results in the form that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from longshore.sim import many
from longshore.sim.pictures import page, svg, table, timeline, trace
from longshore.sim.sim_result import Result


def title(files: Sequence[str], words: str) -> str:
    named = ", ".join(Path(file).name for file in files) or "a cluster"
    return f"Simulation of {named}" + (f" with {words}" if words else "")


def text(form: str, results: Sequence[Result], name: str) -> str:
    """The answer. Pictures show the first seed; tables and JSON all of them."""
    first = results[0]
    match form:
        case "html":
            return page.of(first, timeline.of(first, name))
        case "svg":
            return svg.of(timeline.of(first, name), first.zone)
        case "timeline":
            return _json(timeline.of(first, name))
        case "trace":
            return _json(trace.of(first))
        case "json":
            return _json(first if len(results) == 1 else results)
    said = table.of(first)
    if first.default_outcome:
        said += "\nNobody said how pods go: each takes 60 s and ends well. See --outcomes.\n"
    if len(results) > 1:
        said += "\n" + table.of_spreads(many.spreads(results, _whole), len(results))
    return said


def _whole(owner: str, name: str) -> str:
    """Runs of a CronJob count together."""
    return owner or name


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
