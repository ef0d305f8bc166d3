"""Timelines as one page that stands alone: the dashboard's own component, with styles and data inside.

The page fetches nothing, and its Content-Security-Policy forbids it to.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from longshore import ui
from longshore.api.types import Obj
from longshore.sim.checks import spoken
from longshore.sim.sim_result import SimResult

_ASSETS: Final = Path(ui.__file__).parent / "assets"
_SCRIPTS: Final = ("lib/format.js", "lib/paint.js", "lib/view.js", "parts/gantt.js")
_STYLES: Final = ("css/tokens.css", "css/base.css", "css/parts.css")
_IMPORT: Final = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)
_START: Final = """
const all = JSON.parse(document.getElementById("timelines").textContent);
if (all.length) showIn(all[0].zone);
document.querySelectorAll("ls-gantt").forEach((gantt, at) => {
  const found = all[at];
  found.rows = found.rows.map(({ name, group, bars }) => ({ name: group ? `${group} ${name}` : name, bars }));
  gantt.timeline = found;
});
"""
_LAYOUT: Final = """
body { max-width: 1200px; margin: 0 auto; padding: 24px 16px; }
h1 { margin: 0 0 4px; }
.remarks li { margin: 2px 0; }
.panel { padding: 16px; margin: 16px 0; }
"""


class Shown(NamedTuple):
    """One simulation on a page."""

    words: str
    """Heading of the simulation; empty if it is the only one."""
    result: SimResult
    timeline: Obj


def of(title: str, shown: Sequence[Shown]) -> str:
    """The page: one simulation, or several one below the other."""
    # Modules become one script: their names are unique, and they import only each other.
    code = (
        "".join(_EXPORT.sub("", _IMPORT.sub("", (_ASSETS / name).read_text())) for name in _SCRIPTS) + _START
    )
    style = "".join((_ASSETS / name).read_text() for name in _STYLES) + _LAYOUT
    timelines = [{**each.timeline, "zone": each.result.zone} for each in shown]
    data = msgspec.json.encode(timelines).decode().replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_hash(code)}'; base-uri 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{"".join(_section(each) for each in shown)}</main>
<script type="application/json" id="timelines">{data}</script>
<script type="module">{code}</script>
</body>
</html>
"""


def _section(shown: Shown) -> str:
    result = shown.result
    heading = f"<h2>{escape(shown.words)}</h2>\n" if shown.words else ""
    remarks = "".join(f"<li>{escape(text)}</li>" for text in result.remarks)
    counts = f"{len(result.jobs)} Jobs, {len(result.bars)} pods, {spoken(result.seconds)} from {result.start}"
    label = escape(shown.timeline["title"], quote=True)
    return f"""{heading}<p>{escape(counts)} ({escape(result.zone)}), seed {result.seed}</p>
{f'<ul class="remarks">{remarks}</ul>' if remarks else ""}
<section class="panel" aria-label="{label}"><ls-gantt></ls-gantt></section>
"""


def _hash(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
