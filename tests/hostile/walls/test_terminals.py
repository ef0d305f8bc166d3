"""Terminals behind walls are the container's own: they work, and nobody else's are seen."""

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

USER = 12345
PEOPLE = ["root", "user"] if os.geteuid() == 0 else ["user"]


@functools.cache
def said(level: str, who: str) -> dict[str, tuple[str, int]]:
    """Outside /tmp, which containers of level full do not see."""
    is_other = who == "user" and os.geteuid() == 0
    python = python_of_everybody() if is_other else sys.executable
    directory = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        options = {}
        if is_other:
            os.chown(directory, USER, USER)
            options = {"user": USER, "group": USER, "extra_groups": []}
        found: dict[str, tuple[str, int]] = answer_of(
            [python], "support.wall_terminals", level, directory, **options
        )
        return found
    finally:
        shutil.rmtree(directory)


@pytest.mark.parametrize("level", ["none", "process", "full"])
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.xdist_group("terminals")
def test_a_terminal_works_at_every_level(who: str, level: str) -> None:
    for way, (shown, code) in said(level, who).items():
        if way == "refused":
            continue
        name = re.search(r"^/dev/(pts/\d+)\r$", shown, re.MULTILINE)
        assert name is not None, (way, shown)
        assert "43 132" in shown
        assert re.search(rf"^{name[1]} *\r$", shown, re.MULTILINE), (way, shown)  # as ps has it
        assert re.search(r"^42\r$", shown, re.MULTILINE), (way, shown)
        assert code == 5


@pytest.mark.parametrize("level", ["process", "full"])
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.xdist_group("terminals")
def test_behind_walls_a_container_sees_its_own_terminals_alone(who: str, level: str) -> None:
    for way, (shown, _) in said(level, who).items():
        if "two" not in way and way != "refused":
            assert re.search(r"^/dev/pts/0 /dev/pts/ptmx\r$", shown, re.MULTILINE), (way, shown)


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.xdist_group("terminals")
def test_a_container_of_an_earlier_keeper_is_entered_by_root_and_by_others_not(who: str) -> None:
    found = said("full", who)
    if who == "root":
        assert "adopted" in found
    else:
        assert "an earlier keeper started the container" in found["refused"][0]
