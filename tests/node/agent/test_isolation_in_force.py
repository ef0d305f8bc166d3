"""The level of isolation of a node in words, from its object."""

from __future__ import annotations

import pytest

from longshore.node import shortcomings

WORDS = [
    ({}, ""),
    ({"isolation": "full"}, "full"),
    (
        {"isolation": "process"},
        "process, for pods that do not say which; more: longshore up --isolation full",
    ),
    (
        {"isolation": "none"},
        "none, for pods that do not say which; more: longshore up --isolation process or full",
    ),
    (
        {"isolation": "none", "isolation-problem": "not permitted"},
        "none; more is not possible here: not permitted (what to turn on: longshore doctor)",
    ),
]


@pytest.mark.parametrize(("told", "words"), WORDS)
def test_the_level_and_the_way_to_more_are_told(told: dict[str, str], words: str) -> None:
    annotations = {f"process.engines.longshore.dev/{name}": value for name, value in told.items()}
    assert shortcomings.isolation({"metadata": {"name": "n", "annotations": annotations}}) == words
