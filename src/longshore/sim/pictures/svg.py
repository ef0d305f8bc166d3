"""A timeline as an SVG that stands alone: for documents, and for looking at without a browser's scripts."""

from __future__ import annotations

from datetime import datetime, timedelta
from html import escape
from typing import Final
from zoneinfo import ZoneInfo

from longshore.api.types import Obj

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


def of(timeline: Obj, zone: str) -> str:
    """The first rows of a timeline; a line says how many are left out."""
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
            out.append(_bar(bar, name, y, start, scale))
    if left:
        out.append(f'<text x="8" y="{height - 8}" fill="#5e6a7a">and {left} more rows</text>')
    return "\n".join([*out, "</svg>", ""])


def _bar(bar: Obj, name: str, y: float, start: float, scale: float) -> str:
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
