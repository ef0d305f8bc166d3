"""A result over time: as a timeline for the dashboard's component, as an SVG, and as a trace for Perfetto."""

from __future__ import annotations

import heapq
from datetime import datetime, timedelta
from html import escape
from typing import Final
from zoneinfo import ZoneInfo

from longshore.api.types import Obj
from longshore.sim.sim_result import STARTING_SECONDS, Bar, JobRow, SimResult

MAX_POD_ROWS: Final = 20_000
_STATES: Final = {
    "succeeded": "done",
    "failed": "failed",
    "evicted": "held",
    "stopped": "none",
    "": "running",
}
_JOB_STATES: Final = {
    "complete": "done",
    "deleted": "none",
    "failed": "failed",
    "running": "running",
    "waiting": "waiting",
}


def of(result: SimResult, title: str) -> Obj:
    """The format that docs/reference/ui.md writes down: a row for each pod, or for each Job if there are too
    many pods to look at."""
    start = datetime.fromisoformat(result.start).timestamp()
    if len(result.bars) <= MAX_POD_ROWS:
        rows = [_of_pod(bar, start, result.seconds) for bar in result.bars]
    else:
        rows = [_of_job(job, start, result.seconds) for job in result.jobs]
    last = max((bar.ended or result.seconds for bar in result.bars), default=result.seconds)
    return {"title": title, "start": start, "end": start + max(last, 1.0), "rows": rows}


def _of_pod(bar: Bar, start: float, seconds: float) -> Obj:
    begun = bar.started if bar.started is not None else bar.ended
    bars = _waited(bar.created, begun, start, seconds, bar.waits_for)
    if bar.started is not None:
        code = "" if bar.code is None else f"exit code {bar.code}, "
        end = seconds if bar.ended is None else bar.ended
        state, label = _STATES[bar.result], bar.result or "running"
        bars.append(_span(start, bar.started, end, state, label, detail=f"{code}on {bar.node}"))
    group = bar.work.partition("/")[2]
    name = bar.name.removeprefix(f"{group}-") if group else bar.name
    return {"name": name, "group": group, "bars": bars}


def _of_job(job: JobRow, start: float, seconds: float) -> Obj:
    begun = job.started if job.started is not None else (job.ended if job.ended is not None else seconds)
    bars = _waited(job.queued, begun, start, seconds, job.waits_for or job.waited_for)
    if job.started is not None:
        end, detail = seconds if job.ended is None else job.ended, f"{job.pods} pods, {job.failed} failed"
        bars.append(_span(start, job.started, end, _JOB_STATES[job.result], job.result, detail=detail))
    return {"name": job.name, "group": "", "bars": bars}


def _waited(queued: float, begun: float | None, start: float, seconds: float, why: str) -> list[Obj]:
    """The bar of the time before a start; none if that was short."""
    if begun is not None and begun - queued <= STARTING_SECONDS:
        return []
    return [_span(start, queued, seconds if begun is None else begun, "waiting", "waiting", detail=why)]


def _span(start: float, begun: float, ended: float, state: str, label: str, **more: str) -> Obj:
    return {"from": start + begun, "to": start + ended, "state": state, "label": label, **more}


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
_WIDTH, _GUTTER, _ROW, _HEAD = 1000, 190, 16, 46
_COLOURS: Final = {
    "backoff": "#a583d8",
    "done": "#1c9c7b",
    "failed": "#d9541e",
    "held": "#a583d8",
    "none": "#b9c0cb",
    "running": "#3d8fe0",
    "waiting": "#e3b23c",
}
_STEPS: Final = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000)


def svg(timeline: Obj, zone: str) -> str:
    """A timeline as an SVG that stands alone: its first rows, and a line that says how many are left out."""
    rows = timeline["rows"][:MAX_ROWS]
    left = len(timeline["rows"]) - len(rows)
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
        out.append(f'<text x="{x + 2:.1f}" y="{_HEAD - 12}" fill="#5e6a7a">{escape(text)}</text>')
    for number, row in enumerate(rows):
        y = _HEAD + number * _ROW
        name = f"{row['group']} {row['name']}".strip()
        shown = name if len(name) <= 30 else f"…{name[-29:]}"
        out.append(
            f'<text x="{_GUTTER - 8}" y="{y + 11}" text-anchor="end" fill="#4a5666">{escape(shown)}</text>'
        )
        for bar in row["bars"]:
            out.append(_svg_bar(bar, name, y, start, scale))
    if left:
        out.append(f'<text x="8" y="{height - 8}" fill="#5e6a7a">and {left} more rows</text>')
    return "\n".join([*out, "</svg>", ""])


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
