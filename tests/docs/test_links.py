"""Every link in a Markdown page of the checkout leads to a file that is there, and to a heading in it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from support.places import ROOT

FOLDERS = ("docs", "bench", "examples", "tests/recorded")
PAGES = sorted(
    [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))],
)
GENERATED = ROOT / "docs" / "reference" / "generated"
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def written() -> list[Path]:
    """Pages in the repository; generated ones are checked when the site is built."""
    return [page for page in PAGES if GENERATED not in page.parents]


@cache
def headings(page: Path) -> set[str]:
    """Anchors of a page's headings, spelled as a code host spells them."""
    lines = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL).splitlines()
    titles = (line.lstrip("#").strip() for line in lines if re.match(r"#+ ", line))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead(page: Path) -> list[str]:
    """Links of a page that lead nowhere. Addresses on the web are not asked."""
    found = []
    for link in _LINK.findall(_CODE.sub("", page.read_text())):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if re.match(r"[a-z]+:", link) or target.is_relative_to(GENERATED):
            continue
        if not target.exists() or (anchor and anchor not in headings(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", written(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert not dead(page)


def test_a_dead_link_and_a_dead_anchor_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](gone.md) [b](#one) [c](#two) `[d](code.md)`\n")
    assert dead(page) == ["gone.md", "#two"]
