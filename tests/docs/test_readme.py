"""README.md names every kind that is served, and the two commands that matter."""

from __future__ import annotations

import re

from longshore.api.kinds.table import RESOURCES
from support.places import ROOT

README = (ROOT / "README.md").read_text()


def test_every_kind_that_can_be_listed_stands_in_the_table_of_kinds() -> None:
    table = README.partition("\n## Kinds\n")[2].partition("\n## ")[0]
    kinds = {row.kind for row in RESOURCES if "list" in row.verbs}
    assert not {kind for kind in kinds if not re.search(rf"\b{kind}\b", table)}


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    named = re.findall(r"`make ([a-z-]+)`", README)
    assert {"demo", "test", "docs", "kubectl"} <= set(named) <= set(targets)
