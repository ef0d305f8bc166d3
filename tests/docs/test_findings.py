"""The page of findings names tests that exist: each row at least one."""

from __future__ import annotations

import re

from support.places import ROOT

PAGE = ROOT / "docs" / "reference" / "findings.md"


def rows() -> list[tuple[str, list[str]]]:
    """A finding and its tests."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [(what, re.findall(r"`([\w/]+\.py::\w+)`", tests)) for what, tests in cells if "---" not in tests]


def test_each_finding_has_tests_that_exist() -> None:
    found = [row for row in rows() if row[0] != "finding"]
    assert len(found) > 50
    assert [what for what, tests in found if not tests] == []
    for _, tests in found:
        for test in tests:
            path, _, name = test.partition("::")
            assert re.search(
                rf"^ *(async )?def {name}\(", (ROOT / "tests" / path).read_text(), re.MULTILINE
            ), test
