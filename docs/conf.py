"""How Sphinx makes the site: `make docs`. First of all tools/handbook writes the reference pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

project = "longshore"
author = "the longshore authors"
html_title = "longshore"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["pictures/*"]
html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
nitpicky = True  # a link that leads nowhere is a warning, and warnings are errors
myst_heading_anchors = 4  # links to headings work as on a code host, and are checked
myst_links_external_new_tab = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def write_reference(app: Any) -> None:
    """Writes the pages that are made from the code, so that they cannot differ from it."""
    from handbook.reference import pages

    pages.write(HERE / "reference" / "generated")


def setup(app: Any) -> None:
    app.connect("builder-inited", write_reference)
