"""Folds restarts of a container: the first end gets all its lines, equal ones become a number."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from longshore.machinery.sentences import stamp
from longshore.why.story import Line, without_use

STEPS: Final = ("ContainerFailed", "CrashLoopBackOff", "Restarted")
"""Codes of the records that make up a restart."""


def folded(lines: Iterable[Line]) -> list[Line]:
    """The lines, with repetitions of an equal end folded. The last end keeps its own lines, so that the story
    ends with the present state."""
    found: list[Line] = []
    for is_step, some in groupby(lines, lambda line: line.code in STEPS):
        row = [*some]
        found += _fold(row) if is_step else row
    return found


def _fold(steps: list[Line]) -> list[Line]:
    ends = [at for at, line in enumerate(steps) if line.code == "ContainerFailed"]
    if len(ends) < 4 or len({without_use(steps[at].words) for at in ends}) > 1:
        return steps
    first, last = steps[: ends[1]], steps[ends[-1] :]
    many, again = len(ends) - 2, steps[ends[1]]
    words = f"it ended like this {many} more times, and was started again after longer and longer pauses"
    line = Line(again.at, words, (f"the last of these at {stamp(steps[ends[-2]].at)}",), "RestartedAgain")
    return [*first, line, *last]
