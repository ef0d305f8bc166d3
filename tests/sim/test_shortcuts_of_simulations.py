"""A simulation spares what nobody asks for: Events as objects, owners of fields. Its answer is the same."""

from __future__ import annotations

import pytest

from longshore.api.types import Obj
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Exit, Run
from longshore.sim.sim_result import SimResult
from sim.worlds import DAY, HOUR, cron_job, gang, job, played

FIRST: Obj = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "first"},
    "value": 9,
}
"""Of two gangs that are alike, the dice would choose the first."""
QUESTIONS: list[tuple[list[Obj], list[Rule], float]] = [
    ([cron_job("hourly", "0 * * * *")], [], DAY),
    (
        [cron_job("slow", "*/20 * * * *", concurrencyPolicy="Forbid")],
        [Rule("*", (Run(0.9 * HOUR),))],
        8 * HOUR,
    ),
    ([job(completions=9, parallelism=9)], [Rule("*", (Run(600.0),))], DAY),
    ([job(backoffLimit=1)], [Rule("*", (Exit(3, after="10s"),))], DAY),
    ([job("fits"), job("never", cpu="99")], [], HOUR),
    (
        [FIRST, gang("one", 3, "1", priorityClassName="first"), gang("two", 3, "1"), gang("never", 9, "1")],
        [],
        4 * HOUR,
    ),
]


def told(found: SimResult) -> object:
    """The answer without what the dice choose, which are asked more often where Events have UIDs: the names
    of pods, and which node of two alike."""
    bars = sorted(
        (bar.work, bar.index or 0, bar.created, bar.bound, bar.started, bar.ended, bar.result, bar.code)
        for bar in found.bars
    )
    return found.jobs, found.cron_jobs, found.queues, found.remarks, bars


@pytest.mark.parametrize(("objects", "rules", "seconds"), QUESTIONS)
def test_it_answers_the_same_without_shortcuts(objects: list[Obj], rules: list[Rule], seconds: float) -> None:
    on, off = (
        played(*objects, rules=rules, seconds=seconds, until_done=False, shortcuts=shortcuts)
        for shortcuts in (True, False)
    )
    assert told(on) == told(off)
    assert on.bars
