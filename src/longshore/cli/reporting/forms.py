"""The forms of a report: text for a terminal, Markdown, and a page of HTML that needs nothing else."""

from __future__ import annotations

import html
import time
from collections.abc import Iterator, Sequence
from typing import Final

from longshore.api.terminal import harmless
from longshore.cli.commands.history import Row
from longshore.cli.printing.columns import Columns
from longshore.cli.reporting.day import Day, group
from longshore.cli.running.report_lines import span

_MAX_WORD_LINES: Final = 10
_MAX_LANES: Final = 60
_COLOURS: Final = {"complete": "#2e7d32", "failed": "#c62828", "timed out": "#c62828", "running": "#1565c0"}
_OTHER_COLOUR: Final = "#9e9e9e"

Section = tuple[str, list[list[str]], list[list[str]]]
"""A title, the rows of a table with its header, and lines of output below each row."""


def title(day: Day) -> str:
    hours = (day.until - day.since) / 3600
    length = f"{hours:g} h" if hours < 72 else f"{hours / 24:g} days"
    until = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(day.until))
    return f"The last {length}, until {until}"


def sections(day: Day) -> list[Section]:
    """The parts of a report, without those that are empty."""
    failed = day.failed()
    cells = [[*_who(day.rows[at]), _took(day, at), day.rows[at].note] for at in failed]
    words = [_last_lines(day.words.get(day.rows[at].record, "")) for at in failed]
    late = [[*_who(day.rows[at]), f"{span(by)} after its time"] for at, by in day.late()]
    slow = [[*_who(day.rows[at]), _took(day, at)] for at in day.slow()]
    skipped = [[each.namespace, each.cronjob, each.at, each.why] for each in day.skipped]
    every = [[*_who(row), row.result, row.counts, _took(day, at)] for at, row in enumerate(day.rows)]
    run = ["NAMESPACE", "NAME", "STARTED"]
    found: list[Section] = [
        ("Failed", [[*run, "TOOK", "CAUSE"], *cells], [[], *words]),
        ("Skipped", [["NAMESPACE", "CRONJOB", "DECIDED", "WHY"], *skipped], []),
        ("Late", [[*run, "STARTED LATE"], *late], []),
        ("Slow", [[*run, "TOOK"], *slow], []),
        ("All runs", [[*run, "RESULT", "COMPLETE", "TOOK"], *every], []),
    ]
    return [section for section in found if len(section[1]) > 1]


def text(day: Day) -> str:
    lines = [f"{title(day)}\n{day.counts()}\n", *(f"not whole: {each}\n" for each in day.refused)]
    for name, rows, words in sections(day):
        lines.append(f"\n{name}\n")
        table = Columns().lines([["  " + row[0], *row[1:]] for row in rows]).splitlines()
        for at, line in enumerate(table):
            lines.append(line.rstrip() + "\n")
            lines += [f"      {each}\n" for each in (words[at] if words else ())]
    return "".join(lines)


def markdown(day: Day) -> str:
    lines = [f"# {title(day)}", "", day.counts(), *(f"\n**Not whole:** {each}" for each in day.refused)]
    for name, rows, words in sections(day):
        head, *below = rows
        lines += [
            "",
            f"## {name}",
            "",
            _pipes([word.capitalize() for word in head]),
            _pipes(["---"] * len(head)),
        ]
        lines += [_pipes(row) for row in below]
        for row, said in zip(rows, words, strict=False):
            if said:
                lines += ["", f"`{row[1]}`:", "", *(f"    {harmless(line)}" for line in said)]
    return "\n".join(lines) + "\n"


def page(day: Day) -> str:
    """A page of HTML in one piece: no script, no link, no picture from elsewhere."""
    body = [f"<h1>{html.escape(title(day))}</h1>", f"<p class=counts>{html.escape(day.counts())}</p>"]
    body += [f"<p class=gap>Not whole: {html.escape(each)}</p>" for each in day.refused]
    body.append(_picture(day))
    for name, rows, words in sections(day):
        head, *below = rows
        body.append(f"<h2>{name}</h2><table><tr>{_cells('th', [word.capitalize() for word in head])}</tr>")
        for at, row in enumerate(below, start=1):
            body.append(f"<tr>{_cells('td', row)}</tr>")
            if words and words[at]:
                said = html.escape("\n".join(map(harmless, words[at])))
                body.append(f"<tr><td colspan={len(head)}><pre>{said}</pre></td></tr>")
        body.append("</table>")
    return _PAGE.format(title=html.escape(title(day)), body="\n".join(body))


def _who(row: Row) -> list[str]:
    return [row.namespace, row.name, time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.begun))]


def _took(day: Day, at: int) -> str:
    row = day.rows[at]
    if row.ended is None:
        return f"{span(day.until - row.begun)} so far"
    usual = day.usual.get(at)
    return span(row.ended - row.begun) + (f", usually {span(usual)}" if usual is not None else "")


def _last_lines(words: str) -> list[str]:
    return words.splitlines()[-_MAX_WORD_LINES:]


def _pipes(cells: Sequence[str]) -> str:
    safe = (harmless(cell).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(safe)} |"


def _cells(tag: str, cells: Sequence[str]) -> str:
    return "".join(f"<{tag}>{html.escape(harmless(cell))}</{tag}>" for cell in cells)


def _picture(day: Day) -> str:
    """The runs as bars over time, a lane for each CronJob or Job."""
    lanes: dict[tuple[str, str], list[Row]] = {}
    for row in day.rows:
        lanes.setdefault(group(row), []).append(row)
    shown = [*lanes.items()][:_MAX_LANES]
    height = 20 * len(shown) + 24
    box = f'viewBox="0 0 960 {height}" width="960" height="{height}"'
    parts = [f'<svg {box} role="img" aria-label="runs over time">']
    parts += _hours(day, height)
    for lane, ((_, name), rows) in enumerate(shown):
        y = 20 * lane + 4
        parts.append(f'<text x="0" y="{y + 11}">{html.escape(harmless(name[:28]))}</text>')
        for row in rows:
            left = _x(day, max(row.begun, day.since))
            width = max(2.0, _x(day, row.ended if row.ended is not None else day.until) - left)
            colour = _COLOURS.get(row.result, _OTHER_COLOUR)
            tip = html.escape(harmless(f"{row.name}: {row.result}"))
            parts.append(
                f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="14" fill="{colour}">'
                f"<title>{tip}</title></rect>"
            )
    parts.append("</svg>")
    if len(lanes) > len(shown):
        parts.append(
            f"<p class=gap>The picture leaves out {len(lanes) - len(shown)} of {len(lanes)} lanes.</p>"
        )
    return "".join(parts) if day.rows else ""


def _x(day: Day, at: float) -> float:
    return 200 + 760 * (at - day.since) / (day.until - day.since)


def _hours(day: Day, height: int) -> Iterator[str]:
    """Six marks on the axis, with the time of day."""
    for step in range(7):
        at = day.since + (day.until - day.since) * step / 6
        x, anchor = _x(day, at), "end" if step == 6 else "start" if not step else "middle"
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 18}" stroke="#ddd"/>'
        told = time.strftime("%d %H:%M", time.localtime(at))
        yield f'<text x="{x:.1f}" y="{height - 4}" text-anchor="{anchor}">{told}</text>'


_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; color: #222; background: #fff; }}
body {{ max-width: 1000px; margin: 2em auto; }}
h1 {{ font-size: 1.4em; }} h2 {{ font-size: 1.1em; margin-top: 2em; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: 3px 12px 3px 0; border-bottom: 1px solid #ddd; vertical-align: top; }}
pre {{ background: #f5f5f5; padding: 8px; margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }}
.gap {{ color: #c62828; }}
svg text {{ font-size: 11px; fill: #444; }}
svg {{ max-width: 100%; height: auto; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
