"""A timeline as a page that stands alone: the dashboard's own component, with styles and data inside.

The page fetches nothing, and its Content-Security-Policy forbids it to.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Final

import msgspec

from longshore import ui
from longshore.api.types import Obj
from longshore.sim.checks import spoken
from longshore.sim.pictures import table
from longshore.sim.sim_result import SimResult

_ASSETS: Final = Path(ui.__file__).parent / "assets"
_SCRIPTS: Final = ("lib/format.js", "lib/paint.js", "lib/view.js", "parts/gantt.js")
_STYLES: Final = ("css/tokens.css", "css/base.css", "css/parts.css")
_IMPORT: Final = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)
_START: Final = """
const { zone, ...timeline } = JSON.parse(document.getElementById("timeline").textContent);
showIn(zone);
document.querySelector("ls-gantt").timeline = timeline;
"""
_LAYOUT: Final = """
body { height: 100vh; }
main { display: flex; flex-direction: column; gap: 8px; height: 100%; padding: 12px 16px; }
.remarks { max-height: 20vh; overflow: auto; }
.remarks li { margin: 2px 0; }
.panel { display: grid; flex: 1; min-height: 320px; padding: 12px 16px; }
ls-gantt { grid-template-rows: auto minmax(0, 1fr); }
ls-gantt canvas { position: absolute; }
"""


def of(shown: Obj, played: Mapping[str, SimResult]) -> str:
    """The page of a timeline and of its results by their words. It fills the window."""
    # Modules become one script: their names are unique, and they import only each other.
    code = (
        "".join(_EXPORT.sub("", _IMPORT.sub("", (_ASSETS / name).read_text())) for name in _SCRIPTS) + _START
    )
    style = "".join((_ASSETS / name).read_text() for name in _STYLES) + _LAYOUT
    results, title = [*played.values()], escape(shown["title"], quote=True)
    data = msgspec.json.encode({**shown, "zone": results[0].zone}).decode().replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_hash(code)}'; base-uri 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<ul class="remarks">{"".join(_told(words, result) for words, result in played.items())}</ul>
<section class="panel" aria-label="{title}"><ls-gantt fills></ls-gantt></section>
</main>
<script type="application/json" id="timeline">{data}</script>
<script type="module">{code}</script>
</body>
</html>
"""


def _told(words: str, result: SimResult) -> str:
    """The counts, nights and remarks of a result, as items of a list."""
    counts = f"{len(result.jobs)} Jobs, {len(result.bars)} pods, {spoken(result.seconds)} from {result.start}"
    first = escape(f"{counts} ({result.zone}), seed {result.seed}")
    nights = [table.window(result, row) for row in result.windows]
    told = [f"<b>{escape(words)}</b>: {first}" if words else first, *map(escape, (*nights, *result.remarks))]
    return "".join(f"<li>{text}</li>" for text in told)


def _hash(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
