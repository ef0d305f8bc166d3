"""The controllers die after any one of their writes and start again knowing nothing: the end is the same."""

from __future__ import annotations

import functools

import pytest

from controllers.job_proof.job_stories import EXPECTED, STORIES
from longshore.controllers.job.ends import tracking
from longshore.controllers.job.pods import wanted
from longshore.testing.crashing import Death, every_crash
from support.job_world import Ending, Story, World, a_run, goes

NAMES = sorted(STORIES)
MANY = 540
"""Pods; one sync creates and counts no more than 500."""


@functools.cache
def good_end(name: str) -> tuple[Ending, int]:
    return STORIES[name].telling.undisturbed()


@pytest.mark.parametrize("name", NAMES)
def test_each_story_ends_as_it_should(name: str) -> None:
    ended, _ = good_end(name)
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
    ended, writes = good_end(name)
    assert writes > 0
    for last, death, away in every_crash(writes):
        assert STORIES[name].telling.crashed(last, death, away) == ended, (
            f"died at write {last}, {death.value}"
        )


@pytest.mark.parametrize("death", Death)
@pytest.mark.parametrize("name", NAMES)
def test_dying_again_and_again_changes_nothing(name: str, death: Death) -> None:
    ended, _ = good_end(name)
    for every in (1, 2, 3, 5):
        assert STORIES[name].telling.crashed_for_ever(every, death) == ended, f"died at every write {every}"


@pytest.mark.parametrize(
    "name",
    [
        "plain_pods_succeed",
        "indexes_fail_and_are_tried_again",
        "one_failure_takes_running_pods_along",
        "too_many_indexes_fail",
        "a_success_policy_is_met",
        "suspended_and_resumed",
    ],
)
def test_dying_among_pods_that_one_sync_cannot_deal_with_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, _ = good_end(name)
    monkeypatch.setattr(tracking, "MAX_UNCOUNTED_PODS", 2)
    monkeypatch.setattr(wanted, "MAX_PODS_PER_SYNC", 2)
    slow, writes = STORIES[name].telling.undisturbed()
    assert slow == ended
    for last, death, away in every_crash(writes):
        assert STORIES[name].telling.crashed(last, death, away) == ended, (
            f"died at write {last}, {death.value}"
        )


async def _many_pods(world: World) -> None:
    await world.job(completions=MANY, parallelism=MANY, backoffLimit=100)
    await world.ended()


def test_dying_among_many_hundred_pods_changes_nothing() -> None:
    story = Story("many pods", _many_pods, goes(*(a_run(code=1),) * 20, a_run()))
    ended, writes = story.telling.undisturbed()
    assert (ended.jobs["j"]["succeeded"], ended.jobs["j"]["failed"]) == (MANY, 20)
    for last in (300, 500, 502, 530, 545, 1000, writes - 1):
        assert story.telling.crashed(last, Death.UNSEEN, 40.0) == ended, f"died at write {last}"
