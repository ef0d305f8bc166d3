"""The controllers die after any one of their writes and start again knowing nothing: the end is the same."""

from __future__ import annotations

import pytest
from crashing import Death, every_crash
from job_stories import EXPECTED, STORIES
from job_world import crashed, crashed_for_ever, undisturbed

NAMES = sorted(STORIES)


@pytest.mark.parametrize("name", NAMES)
def test_each_story_ends_as_it_should(name: str) -> None:
    ended, _ = undisturbed(STORIES[name])
    if not EXPECTED[name]:
        assert not ended.jobs
        return
    status = ended.jobs["j"]
    counters = {"succeeded": 0, "failed": 0} | EXPECTED[name]
    assert {key: status.get(key, 0) for key in counters} == counters
    assert status["uncountedTerminatedPods"] == {}
    assert not any(tracked for *_, tracked, _ in ended.pods), ended.pods


@pytest.mark.parametrize("name", NAMES)
def test_dying_once_after_any_write_changes_nothing(name: str) -> None:
    ended, writes = undisturbed(STORIES[name])
    assert writes > 0
    for last, death, away in every_crash(writes):
        assert crashed(STORIES[name], last, death, away) == ended, f"died at write {last}, {death.value}"


@pytest.mark.parametrize("death", Death)
@pytest.mark.parametrize("name", NAMES)
def test_dying_again_and_again_changes_nothing(name: str, death: Death) -> None:
    ended, _ = undisturbed(STORIES[name])
    for every in (1, 2, 3, 5):
        assert crashed_for_ever(STORIES[name], every, death) == ended, f"died at every write {every}"
