"""Commits leave the event loop while the disk is slow, and come back when it is not."""

from __future__ import annotations

from longshore.store.commit import SlowCommits

QUICK, SLOW = 0.0001, 0.02


def in_loop(commits: int, seconds: float, slow: SlowCommits) -> int:
    """How many of so many commits run in the loop, if each takes so long there."""
    ran = 0
    for _ in range(commits):
        if slow.expected:
            slow.ran_aside()
        else:
            slow.ran_in_loop(seconds)
            ran += 1
    return ran


def test_a_single_slow_commit_sends_one_to_the_thread() -> None:
    slow = SlowCommits()
    slow.ran_in_loop(SLOW)
    assert in_loop(100, QUICK, slow) == 99


def test_on_a_slow_disk_the_loop_is_held_up_ever_more_seldom() -> None:
    slow = SlowCommits()
    in_loop(128, SLOW, slow)
    assert in_loop(650, SLOW, slow) == 10


def test_a_disk_that_is_quick_again_has_its_commits_in_the_loop_after_one_try() -> None:
    slow = SlowCommits()
    in_loop(500, SLOW, slow)
    in_loop(65, QUICK, slow)
    assert in_loop(100, QUICK, slow) == 100
