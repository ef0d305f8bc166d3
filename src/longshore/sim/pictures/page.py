"""A timeline as one page that stands alone: the dashboard's own component, with styles and data inside.

Nothing is fetched: the page says so to the browser, too (Content-Security-Policy).
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from pathlib import Path
from typing import Final

import msgspec

from longshore import ui
from longshore.api.types import Obj
from longshore.sim.checks import spoken
from longshore.sim.sim_result import Result

_ASSETS: Final = Path(ui.__file__).parent / "assets"
_SCRIPTS: Final = ("lib/format.js", "lib/paint.js", "lib/view.js", "parts/gantt.js")
_STYLES: Final = ("css/tokens.css", "css/base.css", "css/parts.css")
_IMPORT: Final = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)
_START: Final = """
const found = JSON.parse(document.getElementById("timeline").textContent);
found.rows = found.rows.map(({ name, group, bars }) => ({ name: group ? `${group} ${name}` : name, bars }));
document.querySelector("ls-gantt").timeline = found;
"""
_LAYOUT: Final = """
body { max-width: 1200px; margin: 0 auto; padding: 24px 16px; }
h1 { margin: 0 0 4px; }
.remarks li { margin: 2px 0; }
.panel { padding: 16px; margin: 16px 0; }
"""


def of(result: Result, timeline: Obj) -> str:
    # Modules become one script: their names are unique, and the imports are each other.
    code = (
        "".join(_EXPORT.sub("", _IMPORT.sub("", (_ASSETS / name).read_text())) for name in _SCRIPTS) + _START
    )
    style = "".join((_ASSETS / name).read_text() for name in _STYLES) + _LAYOUT
    data = msgspec.json.encode(timeline).decode().replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_hash(code)}'; base-uri 'none'"
    )
    remarks = "".join(f"<li>{escape(text)}</li>" for text in result.remarks)
    counts = f"{len(result.jobs)} Jobs, {len(result.bars)} pods, {spoken(result.seconds)} from {result.start}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(timeline["title"])}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{escape(timeline["title"])}</h1>
<p>{escape(counts)} ({escape(result.zone)}), seed {result.seed}</p>
{f'<ul class="remarks">{remarks}</ul>' if remarks else ""}
<section class="panel" aria-label="Timeline"><ls-gantt></ls-gantt></section>
</main>
<script type="application/json" id="timeline">{data}</script>
<script type="module">{code}</script>
</body>
</html>
"""


def _hash(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
