"""Formats results in the form that the arguments ask for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from longshore.sim import many
from longshore.sim.pictures import page, table, timeline
from longshore.sim.sim_result import Result

SINGLE: Final = ("svg", "timeline", "trace")
"""Forms that can show only one simulation."""


class Played(NamedTuple):
    """One choice of values, in words, and its results, one for each seed."""

    words: str
    results: Sequence[Result]


def text(form: str, played: Sequence[Played], files: Sequence[str]) -> str:
    """The answer. Pictures show the first seed; tables and JSON all of them."""
    title = f"Simulation of {', '.join(Path(file).name for file in files) or 'a cluster'}"
    first = played[0].results[0]
    match form:
        case "html":
            return page.of(_with(title, played[0]) if len(played) == 1 else title, _shown(title, played))
        case "svg":
            return timeline.svg(timeline.of(first, _with(title, played[0])), first.zone)
        case "timeline":
            return _json(timeline.of(first, _with(title, played[0])))
        case "trace":
            return _json(timeline.trace(first))
        case "json":
            return _json([*map(_document, played)] if len(played) > 1 else _one_or_all(played[0].results))
    return "\n".join(_table(each) for each in played)


def _with(title: str, played: Played) -> str:
    return f"{title} with {played.words}" if played.words else title


def _shown(title: str, played: Sequence[Played]) -> list[page.Shown]:
    return [
        page.Shown(
            f"with {each.words}" if len(played) > 1 else "",
            each.results[0],
            timeline.of(each.results[0], _with(title, each)),
        )
        for each in played
    ]


def _document(played: Played) -> dict[str, object]:
    return {"with": played.words, "results": played.results}


def _one_or_all(results: Sequence[Result]) -> object:
    return results[0] if len(results) == 1 else results


def _table(played: Played) -> str:
    results, first = played.results, played.results[0]
    said = (f"with {played.words}:\n" if played.words else "") + table.of(first)
    if len(results) > 1:
        said += "\n" + table.of_spreads(many.spreads(results, _whole), len(results))
    return said


def _whole(owner: str, name: str) -> str:
    """The name under which results count: the CronJob's for its runs, else the Job's own."""
    return owner or name


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
