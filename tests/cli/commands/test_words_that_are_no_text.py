"""Arguments that are no UTF-8 reach the server as the bytes they are, and its refusal is told in a line."""

from __future__ import annotations

import os

import pytest

from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")

BYTE = os.fsdecode(b"\xff")
LINES = (
    "get job X",
    "get job -l a=X",
    "get job --field-selector X",
    "get --raw /X",
    "get --raw /apis/ä",
    "describe job X",
    "delete job X",
    "edit job X",
    "wait --for=condition=complete job/X",
    "wait --for=create job/X --timeout=10ms",
    "logs X",
    "logs x -n X",
    "logs job/X",
    "logs -l X",
    "exec X -- true",
    "attach X",
    "port-forward X 80",
    "cp X:/a b",
    "retry X",
    "top pod X",
)


@pytest.mark.parametrize("line", LINES)
def test_a_word_that_is_no_text_is_refused_in_a_line(longshore: Command, line: str) -> None:
    done = longshore(*line.replace("X", BYTE).split())
    assert done.exit in (1, 2)
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("line", ["get job -n X", "top pod -n X"])
def test_a_namespace_that_is_no_text_has_nothing_in_it(longshore: Command, line: str) -> None:
    done = longshore(*line.replace("X", BYTE).split())
    assert (done.exit, done.stdout) == (0, "")
    assert done.stderr == "No resources found in \\udcff namespace.\n"
