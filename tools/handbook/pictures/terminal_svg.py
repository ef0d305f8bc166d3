"""Draws recorded screens as SVG: the last one as a still, or all of them as a film that needs no script."""

from __future__ import annotations

from xml.sax.saxutils import escape

from handbook.pictures.terminal import Recording, Screen

CHAR_WIDTH, LINE_HEIGHT, FONT_SIZE, MARGIN, BAR_HEIGHT = 8.4, 19, 14, 16, 30
MAX_FRAMES = 28
FRAME_GAP = 8
"""Between the pictures of a film, so that none looks into another."""
HOLD_SECONDS = 3.0
"""How long a film rests on its last picture."""
_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_COLOURS = {
    "default": "#d8dee9",
    "black": "#5b6578",
    "red": "#e06c75",
    "green": "#8fbf6f",
    "brown": "#e5c07b",
    "yellow": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#d8dee9",
    "brightblack": "#7f8a9e",
    "brightred": "#f07c85",
    "brightgreen": "#a5d485",
    "brightyellow": "#f5d08b",
    "brightblue": "#71bfff",
    "brightmagenta": "#d688ed",
    "brightcyan": "#66c6d2",
    "brightwhite": "#ffffff",
}


def still(recording: Recording, title: str) -> str:
    """The last screen."""
    lines = _height(recording.last)
    return _window(recording.columns, lines, title, _screen(recording.last, lines))


def film(recording: Recording, title: str) -> str:
    """All screens, one after the other, for ever; the last alone for readers who want no motion."""
    frames = _few(recording.frames)
    lines = max(_height(screen) for _, screen in frames)
    height = lines * LINE_HEIGHT + FRAME_GAP
    whole = frames[-1][0] + HOLD_SECONDS
    steps = "".join(
        f"{100 * at / whole:.2f}%{{transform:translateY({-n * height}px)}}"
        for n, (at, _) in enumerate(frames)
    )
    strip = "".join(
        f'<g transform="translate(0 {n * height})">{_screen(screen, lines)}</g>'
        for n, (_, screen) in enumerate(frames)
    )
    rest = -(len(frames) - 1) * height
    style = (
        f"<style>@keyframes film{{{steps}}}"
        f".film{{animation:film {whole:.1f}s step-end infinite}}"
        f"@media (prefers-reduced-motion:reduce)"
        f"{{.film{{animation:none;transform:translateY({rest}px)}}}}</style>"
    )
    return _window(
        recording.columns, lines, title, f'<g class="film" transform="translate(0 {rest})">{strip}</g>', style
    )


def _few(frames: list[tuple[float, Screen]]) -> list[tuple[float, Screen]]:
    """At most so many frames, spread evenly, the first and the last among them; the first at second 0."""
    chosen = frames
    if len(frames) > MAX_FRAMES:
        step = (len(frames) - 1) / (MAX_FRAMES - 1)
        chosen = [frames[round(n * step)] for n in range(MAX_FRAMES)]
    return [(at if n else 0.0, screen) for n, (at, screen) in enumerate(chosen)]


def _height(screen: Screen) -> int:
    return max((y + 1 for y, row in enumerate(screen) if row), default=1)


def _screen(screen: Screen, lines: int) -> str:
    out = []
    for y, row in enumerate(screen[:lines]):
        x = 0
        for cell in row:
            length = len(cell.text)
            if cell.text.strip():
                colour = _COLOURS.get(cell.colour) or f"#{cell.colour}"
                bold = ' font-weight="bold"' if cell.bold else ""
                out.append(
                    f'<text x="{x * CHAR_WIDTH:.1f}" y="{y * LINE_HEIGHT + FONT_SIZE}" fill="{colour}"{bold}'
                    f' textLength="{length * CHAR_WIDTH:.1f}">{escape(cell.text)}</text>'
                )
            x += length
    return "".join(out)


def _window(columns: int, lines: int, title: str, inside: str, style: str = "") -> str:
    width = columns * CHAR_WIDTH + 2 * MARGIN
    height = lines * LINE_HEIGHT + BAR_HEIGHT + MARGIN
    inner = lines * LINE_HEIGHT + 4
    dots = "".join(
        f'<circle cx="{16 + 18 * n}" cy="{BAR_HEIGHT / 2}" r="5" fill="{colour}"/>'
        for n, colour in enumerate(("#e06c75", "#e5c07b", "#8fbf6f"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}"'
        f' role="img" aria-label="{escape(title, {chr(34): "&quot;"})}"><title>{escape(title)}</title>{style}'
        f'<rect width="100%" height="100%" rx="8" fill="#1e222a"/>{dots}'
        f'<svg x="{MARGIN}" y="{BAR_HEIGHT}" width="{columns * CHAR_WIDTH:.0f}" height="{inner}"'
        f' font-family="{_FONT}" font-size="{FONT_SIZE}" xml:space="preserve">{inside}</svg></svg>\n'
    )
