"""Every attack of support/wall_attacks.py, from every level, as root and as an ordinary user."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from support.other_users import answer_of, python_of_everybody
from support.places import ROOT
from support.wall_attacks import ATTACKS, BY_TOKEN

USER = 12345
PEOPLE = ["root", "user"] if os.geteuid() == 0 else ["user"]
LEVELS = ["none", "process", "full"]


@functools.cache
def results(level: str, who: str) -> dict[str, bool]:
    """One run of all attacks; outside /tmp, which containers of level full do not see."""
    python = python_of_everybody() if who == "user" and os.geteuid() == 0 else sys.executable
    directory = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        options = {}
        if who == "user" and os.geteuid() == 0:
            os.chown(directory, USER, USER)
            options = {"user": USER, "group": USER, "extra_groups": []}
        found: dict[str, bool] = answer_of([python], "support.wall_attacks", level, directory, **options)
        return found
    finally:
        shutil.rmtree(directory)


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.xdist_group("walls")
def test_the_wall_holds_where_the_table_says_so_and_nowhere_else(who: str, level: str, name: str) -> None:
    held = results(level, who)[name]
    assert held == ATTACKS[name].holds(level, is_root=who == "root")


def test_the_security_page_has_a_row_for_every_attack() -> None:
    page = (ROOT / "docs" / "reference" / "security.md").read_text()
    rows = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and re.fullmatch("held|open|held; open for root", cells[1]):
            rows[cells[0]] = tuple(cells[1:])
    expected = {}
    for attack in (*ATTACKS.values(), BY_TOKEN):
        words = []
        for level in LEVELS:
            both = {attack.holds(level, is_root=True), attack.holds(level, is_root=False)}
            words.append("held" if both == {True} else "open" if both == {False} else "held; open for root")
        expected[attack.threat] = tuple(words)
    assert rows == expected
