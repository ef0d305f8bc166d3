"""The few shapes that diagrams are made of, in colours that can be read on white and on black."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

FONT = "system-ui,-apple-system,'Segoe UI',Helvetica,'DejaVu Sans',sans-serif"
INK, FAINT, PAPER, LINE = "#1f2733", "#5b6578", "#ffffff", "#c5ccd8"
TINTS = ("#dcebfa", "#dff2df", "#fdebd2", "#f0e2f7", "#fbe0e0")


def svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img"'
        f' aria-label="{escape(title, {chr(34): "&quot;"})}" font-family="{FONT}" font-size="14">'
        f"<title>{escape(title)}</title>"
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>{"".join(parts)}</svg>\n'
    )


def box(x: float, y: float, width: float, height: float, fill: str = PAPER) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{LINE}"/>'


def text(
    x: float,
    y: float,
    words: str,
    *,
    colour: str = INK,
    bold: bool = False,
    size: int = 14,
    anchor: str = "start",
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" text-anchor="{anchor}"{weight}>'
        f"{escape(words)}</text>"
    )


def arrow(x: float, y: float, length: float) -> str:
    """Downwards."""
    end = y + length
    return (
        f'<path d="M{x} {y}V{end - 5}" stroke="{FAINT}" stroke-width="1.5"/>'
        f'<path d="M{x - 4} {end - 6}L{x} {end}L{x + 4} {end - 6}Z" fill="{FAINT}"/>'
    )
