"""Refusals, lost answers, broken watches and caches that lag, by dice: Jobs end as they would on a good day.

`LONGSHORE_FAULT_SEEDS=200` rolls more often.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from controllers.job_proof.job_stories import STORIES
from support.job_world import with_faults

SEEDS = int(os.environ.get("LONGSHORE_FAULT_SEEDS", "5"))


@pytest.mark.parametrize("name", sorted(STORIES))
def test_a_job_ends_as_on_a_good_day(name: str) -> None:
    good, _ = STORIES[name].telling.undisturbed()
    happened: Counter[str] = Counter()
    for seed in range(SEEDS):
        bad, faults = with_faults(STORIES[name], seed, rate=0.12, lag=4.0)
        assert bad.jobs == good.jobs, f"seed {seed}: {faults}"
        assert bad.created == good.created  # also where the answer to a create was lost
        assert not any(tracked for *_, tracked, _ in bad.pods), f"seed {seed}: {bad.pods}"
        happened += faults
    assert happened["lag"] > 0
    assert sum(happened.values()) > happened["lag"]


def test_the_same_seed_gives_the_same_bad_day() -> None:
    story = STORIES["indexes_fail_and_are_tried_again"]
    assert with_faults(story, 3) == with_faults(story, 3)


def test_every_kind_of_fault_happens() -> None:
    happened: Counter[str] = Counter()
    for seed in range(8):
        happened += with_faults(STORIES["several_jobs_at_once"], seed, rate=0.2)[1]
    expected = {"conflict", "throttled", "broken", "unanswered", "lost answer", "slow", "watch ends", "lag"}
    expected |= {"watch breaks: forgotten", "watch: forgotten", "watch breaks: cut"}
    assert expected <= happened.keys()
