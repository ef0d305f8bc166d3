"""Blocks of commands that no test runs say why and are few, and none hides in another kind of block."""

from __future__ import annotations

import re

from docs.console_blocks import blocks
from docs.test_links import written
from support.places import ROOT

MAX_NOT_RUN = 9
"""Blocks that no test runs. Each says why; the number only shrinks."""


def test_blocks_that_are_not_run_say_why_and_are_few() -> None:
    found = [block for page in written() for block in blocks(page)]
    assert sum(1 for block in found if block.not_run) <= MAX_NOT_RUN
    assert all(len(block.not_run) > 8 for block in found if block.not_run)
    assert all((ROOT / block.run_by).exists() for block in found if block.run_by)
    assert sum(len(block.steps) for block in found if not block.not_run) >= 60


def test_commands_with_a_prompt_stand_in_console_blocks_only() -> None:
    hidden = []
    for page in written():
        for kind, body in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.M | re.S):
            if kind != "console" and re.search(r"^\$ ", body, re.M):
                hidden.append(f"{page.relative_to(ROOT)}: {body.splitlines()[0]}")
    assert not hidden
