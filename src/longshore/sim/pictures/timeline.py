"""Results over time: lanes for the dashboard's component, an SVG, and a trace for Perfetto."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from html import escape
from typing import Final
from zoneinfo import ZoneInfo

from longshore.api.types import Obj
from longshore.sim.checks import spoken
from longshore.sim.pictures import table
from longshore.sim.sim_result import STARTING_SECONDS, Bar, CronJobRow, JobRow, NodeRow, QueueRow, SimResult

MAX_PODS: Final = 20_000
"""Pictures of more pods have the lanes of work alone."""
MAX_OPEN: Final = 8
"""Lanes of more nodes are folded into one."""
COLUMNS: Final = ("RESULT", "ENDED", "TOOK", "WAITS FOR")
_STATES: Final = {
    "succeeded": "done",
    "failed": "failed",
    "evicted": "held",
    "stopped": "none",
    "": "running",
    "complete": "done",
    "deleted": "none",
    "running": "running",
    "waiting": "waiting",
}
"""The states of bars, by result of a pod or of work."""


def of(title: str, played: Mapping[str, SimResult]) -> Obj:
    """The format that docs/reference/ui.md writes down: results by their words, one below the other on one
    axis."""
    made = [(words, result, _Lanes(result)) for words, result in played.items()]
    start = made[0][2].start
    lanes = [*made[0][2].all()]
    if len(made) > 1:
        lanes = [{"name": words, "bars": [], "rows": [*each.all()], "open": True} for words, _, each in made]
    end = start + max(_last(result) for _, result, _ in made)
    return {"title": title, "start": start, "end": end, "columns": COLUMNS, "rows": lanes}


def _last(result: SimResult) -> float:
    """The seconds from the start to the end of the last bar."""
    works: list[Bar | JobRow] = [*result.bars, *result.jobs]
    ended = (result.seconds if each.ended is None else each.ended for each in works)
    return max(max(ended, default=result.seconds), 1.0)


class _Lanes:
    """The lanes of one result, from top to bottom."""

    def __init__(self, result: SimResult) -> None:
        self._result = result
        self.start = datetime.fromisoformat(result.start).timestamp()
        self._pods: dict[str, list[Bar]] = {}
        for bar in result.bars:
            namespace, slash, _ = bar.name.rpartition("/")
            self._pods.setdefault(f"{namespace}{slash}{bar.work}" if bar.work else "", []).append(bar)
        self._has_pods = len(result.bars) <= MAX_PODS

    def all(self) -> Iterator[Obj]:
        result = self._result
        yield from self._together("nodes", [self._node(row) for row in result.nodes])
        yield from self._together("queues", [self._queue(row) for row in result.queues])
        runs: dict[str, list[JobRow]] = {row.name: [] for row in result.cron_jobs}
        for job in result.jobs:
            if job.owner in runs:
                runs[job.owner].append(job)
            else:
                yield self._job(job)
        for row in result.cron_jobs:
            yield self._cron_job(row, runs[row.name])
        yield from (self._pod(bar, bar.name) for bar in self._pods.get("", ()))

    def _together(self, name: str, rows: list[Obj]) -> list[Obj]:
        """Lanes inside one that has the mean of their use, if they are several nodes."""
        if len(rows) < 2:
            return rows
        shares = [sum(each) / len(rows) for each in zip(*(row["use"]["shares"] for row in rows), strict=True)]
        use = {"use": {**rows[0]["use"], "shares": shares}} if name == "nodes" else {}
        return [{"name": name, "bars": [], **use, "rows": rows, "open": len(rows) <= MAX_OPEN}]

    def _use(self, shares: Sequence[float]) -> Obj:
        end = self.start + self._result.seconds
        return {"from": self.start, "to": end, "shares": [round(each, 4) for each in shares]}

    def _node(self, row: NodeRow) -> Obj:
        seconds = self._result.seconds
        fails = [each for each in self._result.node_failures if each.node == row.name]
        bars = [
            self._span(each.at, seconds if each.ended is None else each.ended, "failed", "the node is down")
            for each in fails
        ]
        name, share = max(row.used.items(), key=lambda each: each[1], default=("", 0.0))
        down = f"{len(fails)} × down" if fails else ""
        cells = [f"{name} {share:.0%}", "", "", down]
        return {"name": row.name, "bars": bars, "use": self._use(row.over_time), "cells": cells}

    def _queue(self, row: QueueRow) -> Obj:
        cells = [f"{row.works} Jobs", "", "", f"at most {spoken(row.longest_wait)}"]
        return {"name": f"queue/{row.name}", "bars": [], "use": self._use(row.over_time), "cells": cells}

    def _cron_job(self, row: CronJobRow, runs: Sequence[JobRow]) -> Obj:
        skipped = len(row.skipped) + row.more_skipped
        cells = [
            f"{row.complete} of {row.runs}",
            table.clock(self._result, row.last_end),
            spoken(row.longest),
            f"{skipped} skipped" if skipped else "",
        ]
        lanes = [self._job(run) for run in runs]
        bars = [bar for lane in lanes for bar in lane["bars"]]
        return {"name": row.name, "bars": bars, "cells": cells, **({"rows": lanes} if lanes else {})}

    def _job(self, job: JobRow) -> Obj:
        pods = self._pods.get(job.name, [])
        begun = job.started if job.started is not None else job.ended
        bars = self._waited(job.queued, begun, job.waits_for or job.waited_for)
        if job.started is not None:
            detail = f"{job.pods} pods, {job.failed} failed"
            if len(pods) == 1:
                detail = _detail(pods[0])
            bars.append(self._ran(job.started, job.ended, job.result, detail))
        took = "" if job.ended is None else spoken(job.ended - job.queued)
        lane: Obj = {
            "name": job.name,
            "bars": bars,
            "cells": [job.result, table.clock(self._result, job.ended), took, table.why(job)],
        }
        if self._has_pods and len(pods) > 1:
            prefix = f"{job.name.rpartition('/')[2]}-"
            lane["rows"] = [self._pod(pod, pod.name.rpartition("/")[2].removeprefix(prefix)) for pod in pods]
        return lane

    def _pod(self, bar: Bar, name: str) -> Obj:
        begun = bar.started if bar.started is not None else bar.ended
        bars = self._waited(bar.created, begun, bar.waits_for)
        if bar.started is not None:
            bars.append(self._ran(bar.started, bar.ended, bar.result, _detail(bar)))
        return {"name": name, "bars": bars}

    def _waited(self, queued: float, begun: float | None, why: str) -> list[Obj]:
        """The bar of the time before a start; none if that was short."""
        if begun is not None and begun - queued <= STARTING_SECONDS:
            return []
        ended = self._result.seconds if begun is None else begun
        return [self._span(queued, ended, "waiting", "waiting", detail=why)]

    def _ran(self, begun: float, ended: float | None, result: str, detail: str) -> Obj:
        end = self._result.seconds if ended is None else ended
        return self._span(begun, end, _STATES[result], result or "running", detail=detail)

    def _span(self, begun: float, ended: float, state: str, label: str, **more: str) -> Obj:
        begun, ended = round(self.start + begun, 3), round(self.start + ended, 3)
        return {"from": begun, "to": ended, "state": state, "label": label, **more}


def _detail(bar: Bar) -> str:
    return f"{'' if bar.code is None else f'exit code {bar.code}, '}on {bar.node}"


_MICROS_PER_SECOND = 1e6


def trace(result: SimResult) -> Obj:
    """A trace in the format that Perfetto and chrome://tracing open: nodes with lanes of pods."""
    numbers = {node.name: number for number, node in enumerate(result.nodes, 1)}
    events: list[Obj] = [
        {"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}}
        for name, number in numbers.items()
    ]
    lanes: dict[str, list[tuple[float, int]]] = {}
    ready = (bar for bar in result.bars if bar.started is not None and bar.node in numbers)
    for bar in sorted(ready, key=lambda each: (each.started or 0.0, each.name)):
        start, end = bar.started or 0.0, result.seconds if bar.ended is None else bar.ended
        free = lanes.setdefault(bar.node, [])
        if free and free[0][0] <= start:
            _, lane = heapq.heappop(free)
        else:
            lane = len(free) + 1
        heapq.heappush(free, (end, lane))
        events.append(
            {
                "ph": "X",
                "name": bar.name,
                "cat": bar.work or "pod",
                "pid": numbers[bar.node],
                "tid": lane,
                "ts": start * _MICROS_PER_SECOND,
                "dur": (end - start) * _MICROS_PER_SECOND,
                "args": {
                    "result": bar.result or "running",
                    "exitCode": bar.code,
                    "waited": start - bar.created,
                },
            }
        )
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"seed": result.seed, "start": result.start},
    }


MAX_ROWS: Final = 400
MAX_UNFOLDED: Final = 80
"""A picture with at most so many rows has them all; a larger one leaves out the pods inside lanes."""
_WIDTH, _GUTTER, _ROW, _HEAD = 1000, 190, 16, 46
_COLOURS: Final = {
    "backoff": "#a583d8",
    "done": "#1c9c7b",
    "failed": "#d9541e",
    "held": "#a583d8",
    "none": "#b9c0cb",
    "running": "#3d8fe0",
    "use": "#0b5cad",
    "waiting": "#e3b23c",
}
_STEPS: Final = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000)


def svg(timeline: Obj, zone: str) -> str:
    """A timeline as an SVG that stands alone: its first rows, and a line that says how many are left out."""
    found = [*_flat(timeline["rows"], unfolded=True)]
    if len(found) > MAX_UNFOLDED:
        found = [*_flat(timeline["rows"], unfolded=False)]
    rows = found[:MAX_ROWS]
    left = len(found) - len(rows)
    height = _HEAD + _ROW * len(rows) + (24 if left else 10)
    start, end = timeline["start"], timeline["end"]
    scale = (_WIDTH - _GUTTER - 10) / max(end - start, 1e-9)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="11" role="img" '
        f'aria-label="{escape(timeline["title"], quote=True)}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="16" font-size="14" fill="#16202c">{escape(timeline["title"])}</text>',
    ]
    for at, text in _marks(start, end, zone):
        x = _GUTTER + (at - start) * scale
        out.append(f'<line x1="{x:.1f}" y1="{_HEAD - 6}" x2="{x:.1f}" y2="{height - 4}" stroke="#dde1e7"/>')
        if x < _WIDTH - 40:
            out.append(f'<text x="{x + 2:.1f}" y="{_HEAD - 12}" fill="#5e6a7a">{escape(text)}</text>')
    for number, row in enumerate(rows):
        y = _HEAD + number * _ROW
        name, depth = row["name"], row["depth"]
        shown = name if len(name) <= 30 - depth else f"…{name[-29 + depth :]}"
        out.append(f'<text x="{8 + 10 * depth}" y="{y + 11}" fill="#4a5666">{escape(shown)}</text>')
        if "use" in row:
            out.append(_svg_use(row["use"], name, y, start, scale))
        out += [_svg_bar(bar, name, y, start, scale) for bar in row["bars"]]
    if left:
        out.append(f'<text x="8" y="{height - 8}" fill="#5e6a7a">and {left} more rows</text>')
    return "\n".join([*out, "</svg>", ""])


def _flat(rows: Sequence[Obj], depth: int = 0, *, unfolded: bool) -> Iterator[Obj]:
    """The rows of a timeline with those inside them, each with its depth."""
    for row in rows:
        yield {**row, "depth": depth}
        if unfolded or row.get("open"):
            yield from _flat(row.get("rows", ()), depth + 1, unfolded=unfolded)


def _svg_use(use: Obj, name: str, y: float, start: float, scale: float) -> str:
    """How much is used over time, as steps on the ground of the row."""
    width = (use["to"] - use["from"]) * scale / len(use["shares"])
    x, ground = _GUTTER + (use["from"] - start) * scale, y + _ROW - 2
    steps = "".join(f"V{ground - share * (_ROW - 5):.1f}h{width:.2f}" for share in use["shares"])
    said = escape(f"{name}: at most {max(use['shares']):.0%} used")
    path = f'<path d="M{x:.2f} {ground:.1f}{steps}V{ground:.1f}z" fill="{_COLOURS["use"]}" opacity="0.7">'
    return f"{path}<title>{said}</title></path>"


def _svg_bar(bar: Obj, name: str, y: float, start: float, scale: float) -> str:
    thin = bar["state"] == "waiting"
    high = 4 if thin else _ROW - 5
    x, width = _GUTTER + (bar["from"] - start) * scale, max((bar["to"] - bar["from"]) * scale, 1.0)
    said = f"{name}: {bar['label']}, {bar['to'] - bar['from']:.0f} s. {bar.get('detail') or ''}"
    return (
        f'<rect x="{x:.2f}" y="{y + (_ROW - high) / 2:.1f}" width="{width:.2f}" height="{high}" rx="2" '
        f'fill="{_COLOURS[bar["state"]]}"><title>{escape(said.strip())}</title></rect>'
    )


def _marks(start: float, end: float, zone: str) -> list[tuple[float, str]]:
    """The lines of the time axis, on round times of the zone."""
    step = next((each for each in _STEPS if (end - start) / each <= 9), _STEPS[-1])
    there = ZoneInfo(zone)
    first = datetime.fromtimestamp(start, there)
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    found = []
    number = 0
    while (at := midnight + timedelta(seconds=step * number)).timestamp() <= end:
        if at.timestamp() >= start:
            text = f"{at:%d %b}" if step >= 86400 else (f"{at:%H:%M}" if step >= 60 else f"{at:%H:%M:%S}")
            found.append((at.timestamp(), text))
        number += 1
    return found
