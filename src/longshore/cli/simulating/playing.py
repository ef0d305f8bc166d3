"""Plays what was asked for: one simulation here, several side by side, one process for each core.

Results come in the order of the questions, whichever process is quicker. Where processes cannot be forked,
they are played one after the other.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from longshore.api.errors import StatusError
from longshore.cli.simulating.sim_progress import Progress
from longshore.sim.settings import Settings
from longshore.sim.sim_result import Result
from longshore.sim.simulate import simulate

_questions: Sequence[Settings] = ()
"""For the processes that are forked: rules hold functions, which cannot be sent to them."""


def play(questions: Sequence[Settings]) -> list[Result]:
    """A result for each. Raises ValueError or StatusError, with what is wrong with a question."""
    workers = min(len(questions), _cores())
    if workers == 1:
        return [*_one_by_one(questions)]
    with _shared(questions), multiprocessing.get_context("fork").Pool(workers) as pool:
        found = []
        with Progress(len(questions)) as progress:
            for answer in pool.imap(_answer, range(len(questions))):
                if isinstance(answer, str):
                    raise ValueError(answer)
                found.append(answer)
                progress.played(len(found))
        return found


def _one_by_one(questions: Sequence[Settings]) -> Iterator[Result]:
    for number, settings in enumerate(questions):
        with Progress(len(questions), number, settings.seconds) as progress:
            yield simulate(settings, progress.passed)


@contextmanager
def _shared(questions: Sequence[Settings]) -> Iterator[None]:
    global _questions
    _questions = questions
    try:
        yield
    finally:
        _questions = ()


def _answer(number: int) -> Result | str:
    """In a process of its own: the result, or what is wrong."""
    try:
        return simulate(_questions[number])
    except (KeyError, ValueError, StatusError) as err:
        return f"lacks {err}" if isinstance(err, KeyError) else str(err)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
