"""Indexed Jobs: which indexes run, succeed, shrink and grow."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.job_scene import a_pod, at, indexed, sync

COMPLETE = ["SuccessCriteriaMet=True", "Complete=True"]


def status(**more: Any) -> dict[str, Any]:
    return {"startTime": at(-15), "ready": 0, "terminating": 0, **more}


def test_the_lowest_indexes_start_first() -> None:
    assert sync(indexed(2, 5)).created_indexes == [0, 1]


def test_gaps_are_filled_and_what_succeeded_is_listed_in_runs() -> None:
    pods = [a_pod("r", index=0), a_pod("p", "Pending", index=3)]
    pods += [a_pod(f"s{n}", "Succeeded", index=n) for n in (2, 4, 5, 7, 8, 9)]
    done = sync(indexed(8, 20), *pods)
    assert done.created_indexes == [1, 6, 10, 11, 12, 13]
    assert done.status["completedIndexes"] == "2,4,5,7-9"
    assert done.status["succeeded"] == 6


def test_an_index_that_succeeds_twice_counts_once() -> None:
    pods = [a_pod(f"s{n}", "Succeeded", index=n) for n in (0, 1)] + [a_pod("t", "Succeeded", index=1)]
    done = sync(indexed(3, 3), *pods)
    assert done.counts("succeeded") == (2,)
    assert done.status["completedIndexes"] == "0,1"
    assert done.created_indexes == [2]


def test_a_success_makes_up_for_a_failure_of_the_same_index() -> None:
    pods = [a_pod(f"s{n}", "Succeeded", index=n) for n in range(3)] + [a_pod("f", "Failed", index=1)]
    done = sync(indexed(3, 3), *pods)
    assert done.conditions == COMPLETE
    assert done.status["completedIndexes"] == "0-2"
    assert done.status["failed"] == 1


def test_a_pod_that_was_written_down_as_failed_completes_no_index() -> None:
    """It succeeded just when the Job was given up."""
    target = {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "message": "m"}
    given_up = status(uncountedTerminatedPods={"failed": ["s"]}, conditions=[target])
    done = sync(indexed(1, 2, status=given_up), a_pod("s", "Succeeded", index=0))
    assert done.counts("succeeded", "failed") == (0, 1)
    assert "completedIndexes" not in done.status


def test_a_pod_that_was_counted_as_failed_completes_no_index_later() -> None:
    """It succeeded just when it was deleted. Its finalizer is gone, and only the cache still shows it."""
    counted = status(failed=1, completedIndexes="1", succeeded=1)
    pod = a_pod("s", "Succeeded", index=0, deleting=True)
    done = sync(indexed(2, 2, status=counted), pod, going=frozenset("s"))
    assert done.counts("succeeded", "failed") == (1, 1)
    assert done.status["completedIndexes"] == "1"


@pytest.mark.parametrize(
    "index",
    [None, "foo", "-1", "5", "8", "9" * 20, pytest.param("9" * 5000, id="too long for Python to read")],
)
class TestPodsWithoutAValidIndex:
    def test_a_running_one_is_removed(self, index: Any) -> None:
        assert sync(indexed(2, 5), a_pod("p", index=index)).released == ["p"]

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_its_end_never_counts(self, index: Any, phase: str) -> None:
        done = sync(indexed(2, 5), a_pod("p", phase, index=index))
        assert done.counts("succeeded", "failed") == (0, 0)
        assert done.stripped == ["p"]


def test_of_two_pods_of_an_index_the_one_further_along_stays() -> None:
    pods = [a_pod("p", "Pending", index=2), a_pod("r", index=2)]
    done = sync(indexed(5, 5), *pods)
    assert done.released == ["p"]
    assert done.created == []


def test_a_corrupt_list_is_read_as_far_as_it_goes() -> None:
    done = sync(indexed(1, 5, status=status(completedIndexes="0,1-foo,bar", succeeded=1)))
    assert done.created_indexes == [1]
    assert done.status["completedIndexes"] == "0"


class TestElastic:
    """Completions and parallelism change together."""

    def test_grown_it_needs_the_new_indexes_too(self) -> None:
        done = sync(indexed(4, 4, status=status(completedIndexes="0-2", succeeded=3)))
        assert done.created_indexes == [3]
        job = indexed(4, 4, status=status(completedIndexes="0-2", succeeded=3))
        assert sync(job, a_pod("s", "Succeeded", index=3)).status["completedIndexes"] == "0-3"

    def test_shrunk_it_forgets_successes_beyond_and_keeps_failures(self) -> None:
        job = indexed(1, 1, status=status(completedIndexes="1", succeeded=1, failed=1))
        done = sync(job, a_pod("a", index=0), a_pod("b", index=2))
        assert done.released == ["b"]
        assert done.counts("succeeded", "failed", "active") == (0, 1, 1)
        assert "completedIndexes" not in done.status

    def test_grown_back_it_runs_a_forgotten_index_again(self) -> None:
        job = indexed(3, 3, status=status(completedIndexes="0,1", succeeded=2))
        assert sync(job, a_pod("s", "Succeeded", index=2, tracked=False)).created_indexes == [2]

    def test_shrunk_to_nothing_it_is_complete(self) -> None:
        job = indexed(0, 0, status=status(completedIndexes="0", succeeded=1))
        assert sync(job).conditions == COMPLETE

    def test_complete_by_shrinking_it_still_waits_for_terminating_pods(self) -> None:
        job = indexed(1, 1, status=status(completedIndexes="0", succeeded=1))
        done = sync(job, a_pod("t", index=1, deleting=True, tracked=False))
        assert done.conditions == ["SuccessCriteriaMet=True"]
