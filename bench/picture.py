"""Small charts as SVG: costs against a size, which has a logarithmic scale, and bars that compare."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT, _MARGIN = 640, 320, 56
_COLOURS = ("#326ce5", "#d9534f", "#3d9970", "#b8860b", "#7b4bb7")


def chart(title: str, across: str, up: str, lines: Mapping[str, Points]) -> str:
    """The SVG of lines by name. `across` and `up` say what the axes are."""
    sizes = sorted({size for points in lines.values() for size, _ in points})
    most = max(value for points in lines.values() for _, value in points) * 1.1
    low, high = math.log10(sizes[0]), math.log10(sizes[-1])

    def x(size: float) -> float:
        return _MARGIN + (math.log10(size) - low) / ((high - low) or 1) * (_WIDTH - 2 * _MARGIN - 120)

    def y(value: float) -> float:
        return _HEIGHT - _MARGIN - value / most * (_HEIGHT - 2 * _MARGIN)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_MARGIN, 24, title, size=15),
        _text(_MARGIN, _HEIGHT - 12, across),
        _text(_MARGIN, 44, up),
        f'<path d="M{_MARGIN} {y(0):.1f}H{_WIDTH - _MARGIN - 120}" stroke="#888"/>',
    ]
    out += [_text(x(size), y(0) + 18, f"{size:,.0f}", anchor="middle") for size in sizes]
    for step in range(5):
        value = most * step / 4
        out.append(_text(_MARGIN - 6, y(value) + 4, f"{value:.3g}", anchor="end"))
    for number, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x(s):.1f}" cy="{y(v):.1f}" r="3.5" fill="{colour}"/>' for s, v in points]
        size, value = points[-1]
        out.append(_text(x(size) + 10, y(value) + 4, name, colour=colour))
    return "\n".join([*out, "</svg>", ""])


def bars(title: str, across: str, lengths: Mapping[str, float]) -> str:
    """The SVG of a bar for each name, longest first."""
    names = sorted(lengths, key=lambda name: -lengths[name])
    most, left, height = max(lengths.values()), 250, 60 + 24 * len(names)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        _text(12, 24, title, size=15),
        _text(left, 44, across),
    ]
    for number, name in enumerate(names):
        top, width = 54 + 24 * number, max(1.0, lengths[name] / most * (_WIDTH - left - 70))
        colour = _COLOURS[0] if name.startswith("longshore") else "#9aa5b1"
        out.append(_text(left - 8, top + 14, name, anchor="end"))
        out.append(f'<rect x="{left}" y="{top}" width="{width:.1f}" height="18" fill="{colour}"/>')
        out.append(_text(left + width + 6, top + 14, f"{lengths[name]:,.0f}"))
    return "\n".join([*out, "</svg>", ""])


def _text(
    x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", colour: str = "#222"
) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {where}>{escape(words)}</text>"
